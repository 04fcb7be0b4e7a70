#include "sparsebit/fx/call.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/graph_operators.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/tracer.h"

#include <algorithm>

namespace sparsebit::fx {
namespace {

bool has_node(const std::vector<Value>& args, const Kwargs& kwargs) {
  return std::any_of(args.begin(), args.end(), [](const Value& v) { return v.contains_node(); }) ||
         std::any_of(kwargs.begin(), kwargs.end(),
                     [](const auto& kv) { return kv.second.contains_node(); });
}

const Value* find(const Kwargs& kwargs, std::string_view name) {
  const auto it = std::find_if(kwargs.begin(), kwargs.end(),
                               [&](const auto& item) { return item.first == name; });
  return it == kwargs.end() ? nullptr : &it->second;
}

/// Unsupported operators of a file stay in the graph with the arguments `_opset` and `_reason`.
void check_executable(const Spelling* found, const std::string& spelling, const Kwargs& kwargs) {
  const Value* reason = find(kwargs, "_reason");
  const std::string why = reason ? " (" + reason->string() + ")" : "";
  const bool carried = find(kwargs, "_opset") != nullptr;  // imported: no suggestions
  SPARSEBIT_CHECK(found, Unsupported, "unknown operator '", spelling, "': it cannot be executed",
                  why,
                  why.empty() && !carried ? did_you_mean(spelling, operators().spellings()) : "");
  SPARSEBIT_CHECK(!carried, Unsupported, "the operator '", spelling,
                  "' was imported unchanged from its file, so it cannot be executed", why);
}

Value call(Opcode op, std::string_view target, const std::string& spelling, std::vector<Value> args,
           Kwargs kwargs) {
  const bool misspelt = op == Opcode::CallFunction && target.starts_with("Tensor.");
  const Spelling* found = misspelt ? nullptr : operators().find(spelling);
  if (found && !found->form) found = nullptr;
  if (Tracer* tracer = Tracer::current(); tracer && has_node(args, kwargs)) {
    if (found) bind_call(*found, args, kwargs);  // invalid arguments fail while tracing
    return tracer->record(op, std::string(target), std::move(args), std::move(kwargs));
  }
  if (const GraphOperator* with_graphs = graph_operators().find(spelling);
      with_graphs && find(kwargs, "_opset"))
    return with_graphs->run(args, kwargs);
  check_executable(found, spelling, kwargs);
  return run_kernel(*found->op, bind_call(*found, args, kwargs));
}

}  // namespace

Value call_function(std::string_view target, std::vector<Value> args, Kwargs kwargs) {
  return call(Opcode::CallFunction, target, std::string(target), std::move(args),
              std::move(kwargs));
}

Value call_method(std::string_view name, std::vector<Value> args, Kwargs kwargs) {
  return call(Opcode::CallMethod, name, "Tensor." + std::string(name), std::move(args),
              std::move(kwargs));
}

Value operator+(const Value& a, const Value& b) { return call_function("operator.add", {a, b}); }
Value operator-(const Value& a, const Value& b) { return call_function("operator.sub", {a, b}); }
Value operator*(const Value& a, const Value& b) { return call_function("operator.mul", {a, b}); }
Value operator/(const Value& a, const Value& b) {
  return call_function("operator.truediv", {a, b});
}
Value operator%(const Value& a, const Value& b) { return call_function("operator.mod", {a, b}); }
Value operator-(const Value& a) { return call_function("operator.neg", {a}); }
Value floordiv(const Value& a, const Value& b) {
  return call_function("operator.floordiv", {a, b});
}
Value matmul(const Value& a, const Value& b) { return call_function("operator.matmul", {a, b}); }
Value getitem(const Value& x, const Value& index) {
  return call_function("operator.getitem", {x, index});
}
Value shape(const Value& x) { return call_function("getattr", {x, "shape"}); }
Value size(const Value& x, int64_t dim) { return call_method("size", {x, dim}); }

}  // namespace sparsebit::fx
