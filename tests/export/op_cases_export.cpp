// The cases of tests/fx/ops, exported to ONNX and run by ONNX Runtime.

#include "export/export_case.h"
#include "export/shape_facts.h"

#include "core/temp_dir.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/module.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

namespace sparsebit::fx::test {
namespace {

using exports::OnnxExportOptions;
using exports::test::OrtQueue;

constexpr int64_t kOpsets[] = {11, 13, 17, 21};

sparsebit::test::TempDir& folder() {
  static sparsebit::test::TempDir dir;
  return dir;
}

OrtQueue& queue() {
  static OrtQueue q(folder().path());
  return q;
}

std::set<std::string>& exported_operators() {
  static std::set<std::string> names;
  return names;
}

/// Cases that ONNX cannot express in some or any opset, by the beginning of the call.
const std::map<std::string, std::string>& known_limits() {
  static const std::map<std::string, std::string> limits = {
      {"torch.norm(%a, 'nuc')", "the nuclear norm has no ONNX form"},
      {"torch.norm(%a, 'nuc', dim=(0, 1), dtype=torch.float64)",
       "the nuclear norm has no ONNX form"},
      {"%a.view(torch.int32)", "Tensor.view(dtype) has no ONNX form"},
  };
  return limits;
}

/// Operators with a form that needs an opset newer than this one of kOpsets.
const std::map<std::string, int64_t>& newest_too_old() {
  static const std::map<std::string, int64_t> opsets = {
      {"einsum", 11}, {"grid_sample", 13}, {"to", 11}};  // to: bfloat16
  return opsets;
}

std::map<std::string, int64_t>& found_too_old() {
  static std::map<std::string, int64_t> opsets;
  return opsets;
}

std::string input_name(size_t i) { return std::string(1, static_cast<char>('a' + i)); }

/// The call as a graph; an operand that it changes in place is returned, too.
std::string graph_text(const OpCase& c, bool in_place) {
  std::string text;
  for (size_t i = 0; i < c.inputs.size(); ++i) text += "%" + input_name(i) + " = input()\n";
  return text + "%result = " + c.call + "\nreturn " + (in_place ? "(%result, %a)" : "%result") +
         "\n";
}

const Node& call_node(const GraphModule& module) { return *module.graph().find("result"); }

std::unique_ptr<GraphModule> case_module(const OpCase& c) {
  auto module = exports::test::parse_module(graph_text(c, false));
  if (mutates_input(call_node(*module), *module))
    module = exports::test::parse_module(graph_text(c, true));
  return module;
}

/// Dropout and similar operators are exported in eval mode.
Tensors expected_of(const GraphModule& module, const std::vector<Value>& inputs) {
  const OperatorCall call = *resolve(call_node(module), module);
  const Schema& schema = call.op->schema;
  if (!schema.find("training") && !schema.find("dropout_p"))
    return exports::test::run_reference(module, inputs);
  std::map<const Node*, Value> given;
  for (const Node* node : module.graph().placeholders())
    given.emplace(node, inputs.at(given.size()).tensor().clone());
  const Args eval = exports::in_eval_mode(call.args);
  std::vector<Value> values;
  for (const Value& value : eval.values())
    values.push_back(value.map_nodes([&](Node& n) { return given.at(&n); }));
  Tensors out = flatten(run_kernel(*call.op, Args(call.op->schema, values)));
  if (mutates_input(call_node(module), module)) out.push_back(out[0]);
  return out;
}

bool is_random(const std::string& op) { return op.starts_with("rand") || op == "bernoulli"; }

void export_case(const OpCase& c) {
  const auto module = case_module(c);
  const std::string& op = resolve(call_node(*module), *module)->op->name;
  std::vector<Value> inputs(c.inputs.begin(), c.inputs.end());
  const Tensors expected = expected_of(*module, inputs);
  const auto compare = is_random(op) ? OrtQueue::Compare::ShapesOnly : OrtQueue::Compare::Values;
  for (const int64_t opset : kOpsets) {
    const std::string what = c10::str(c.call, " at opset ", opset);
    try {
      OnnxExportOptions options{.opset = opset, .inputs = inputs};
      const onnx::ModelProto model = exports::to_onnx(*module, options);
      // .npy files cannot hold bfloat16.
      if (expected.at(0).scalar_type() != at::kBFloat16)
        queue().add(what, model, c.inputs, expected, 1e-4, compare);
      exported_operators().insert(op);
    } catch (const Error& e) {
      const bool too_old = std::string(e.what()).find(" or newer") != std::string::npos;
      const auto limit = known_limits().find(c.call);
      const bool known = limit != known_limits().end() &&
                         std::string(e.what()).find(limit->second) != std::string::npos;
      if (too_old) found_too_old()[op] = opset;
      EXPECT_TRUE(too_old || known) << what << ": " << e.what();
    }
  }
}

/// After all cases: every operator was exported by one of them, or is known to have no ONNX form.
class OnnxRuntimeCheck : public testing::Environment {
 public:
  void TearDown() override {
    const size_t count = queue().size(), agreed = queue().run();
    std::cout << agreed << " of " << count << " exported cases agree with ONNX Runtime\n";
    if (testing::GTEST_FLAG(filter) != "*") return;
    EXPECT_EQ(found_too_old(), newest_too_old());
    for (const Operator* op : operators().all()) {
      const bool known = exports::has_onnx_form(op->name) ||
                         exports::operators_without_onnx_form().contains(op->name);
      EXPECT_TRUE(known) << op->name << " has no ONNX form and no stated reason";
      // Operators named onnx.* are covered by ONNX's conformance data.
      const bool covered = exported_operators().contains(op->name) || op->name.starts_with("onnx.");
      EXPECT_TRUE(covered || exports::operators_without_onnx_form().contains(op->name))
          << op->name << " is exported by no case";
    }
  }
};
[[maybe_unused]] const auto* const kCheck = testing::AddGlobalTestEnvironment(new OnnxRuntimeCheck);

/// Cases like those above with numbers computed from a dynamic size, %n, instead of constants.
const char* const kComputedNumbers[] = {
    R"(%a = bool(%n)
       %c = float(%n)
       %d = operator.truediv(%n, 3)
       %e = int(%d)
       %f = operator.index(%n)
       %g = operator.not_(%n)
       return (%a, %c, %d, %e, %f, %g))",
    R"(%a = max(%n, 5)
       %c = min(%n, 5)
       %d = operator.truediv(%n, 3)
       %e = round(%d)
       %f = round(%d, 1)
       %g = max(2.5, %d)
       return (%a, %c, %e, %f, %g))",
    R"(%d = operator.truediv(%n, 3)
       %a = math.ceil(%d)
       %c = math.floor(%d)
       %e = math.trunc(%d)
       %f = math.pow(%n, 0.5)
       %g = math.sqrt(%n)
       %h = math.exp(%d)
       return (%a, %c, %e, %f, %g, %h))",
    R"(%a = math.log(%n)
       %c = math.log2(%n)
       %d = math.log10(%n)
       %e = math.sin(%n)
       %f = math.cos(%n)
       %g = math.tanh(%n)
       return (%a, %c, %d, %e, %f, %g))",
    R"(%s = %x.size()
       %a = operator.contains(%s, 4)
       %c = math.prod(%s)
       %d = sum(%s)
       %t = tuple(%s)
       %l = list(%t)
       %e = len(%l)
       %f = operator.getitem(%l, 0)
       return (%a, %c, %d, %e, %f))",
    R"(%a = %x.dim()
       %c = torch.is_floating_point(%x)
       %d = torch.numel(%x)
       %e = operator.is_(%x, None)
       %f = operator.is_not(%x, None)
       %g = len(%x)
       return (%a, %c, %d, %e, %f, %g))",
    R"(%q = operator.gt(%n, 0)
       %v = torch._assert(%q, 'empty')
       %r = range(3)
       %a = sum(%r)
       %i = self.same(%x)
       %y = torch.mul(%i, %a)
       %s = operator.setitem(%y, 0, %n)
       return %y)",
};

TEST(ComputedNumbers, AgreeWithOnnxRuntime) {
  for (const char* const body : kComputedNumbers) {
    SCOPED_TRACE(body);
    const auto module =
        exports::test::parse_module(c10::str("%x = input()\n%n = %x.size(0)\n", body));
    module->set_module("same", make_module("torch.nn.Identity", {}));
    for (const Node& node : module->graph().nodes()) {
      if (const auto call = resolve(node, *module)) exported_operators().insert(call->op->name);
    }
    for (const int64_t opset : kOpsets) {
      const onnx::ModelProto model = exports::to_onnx(
          *module,
          {.opset = opset, .inputs = {at::ones({4, 2})}, .dynamic_axes = {{"x", {{0, "n"}}}}});
      for (const int64_t n : {4, 7, 10}) {
        const at::Tensor x = at::arange(2 * n, at::kFloat).reshape({n, 2});
        queue().add(c10::str(body, " with n = ", n, " at opset ", opset), model, {x},
                    exports::test::run_reference(*module, {x}));
      }
    }
  }
}

}  // namespace

void expect_equal_to_libtorch(const std::vector<OpCase>& cases) {
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.call);
    try {
      export_case(c);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace sparsebit::fx::test
