#include "frontends/onnx/control_flow.h"

#include "frontends/onnx/conversion.h"
#include "frontends/onnx/importer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph_operators.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/io/onnx_attribute.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_subgraphs.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <mutex>

namespace sparsebit::frontends {
namespace {

using at::Tensor;
using fx::Kwargs;
using fx::Value;
using Values = std::vector<Value>;

/// Bounds the running time: more than any real loop needs, but not endless.
constexpr int64_t kMostIterations = int64_t{1} << 24;

const Value* find(const Kwargs& kwargs, std::string_view name) {
  const auto it = std::find_if(kwargs.begin(), kwargs.end(),
                               [&](const auto& item) { return item.first == name; });
  return it == kwargs.end() ? nullptr : &it->second;
}

std::optional<onnx::AttributeProto> attribute_of(const Value& value) {
  if (!value.is<fx::Dict>()) return std::nullopt;
  const auto& items = value.get<fx::Dict>().items;
  if (items.size() != 1 || !items[0].second.is_string()) return std::nullopt;
  return io::attribute_from_text(items[0].first, items[0].second.string());
}

/// The graph in an attribute, with the operator sets of its file, which are stored as `_opset` and
/// `_domains` on the node.
onnx::ModelProto inner_model(const Kwargs& kwargs, const char* attribute) {
  const Value* value = find(kwargs, attribute);
  const auto proto = value ? attribute_of(*value) : std::nullopt;
  SPARSEBIT_CHECK(proto && proto->has_g(), InvalidModel, "needs a graph '", attribute, "'");
  onnx::ModelProto model;
  *model.mutable_graph() = proto->g();
  const auto add_set = [&model](const std::string& domain, int64_t version) {
    onnx::OperatorSetIdProto& set = *model.add_opset_import();
    set.set_domain(domain);
    set.set_version(version);
  };
  add_set("", find(kwargs, "_opset")->to_int());
  if (const Value* others = find(kwargs, "_domains")) {
    for (const auto& [domain, version] : others->get<fx::Dict>().items)
      add_set(domain, version.to_int());
  }
  return model;
}

Tensor as_tensor(const Value& value) {
  if (value.is_bool()) return at::scalar_tensor(value.get<bool>(), at::kBool);
  if (value.is_int()) return at::scalar_tensor(value.to_int(), at::kLong);
  return value.tensor();
}

/// Captured values by name; their arguments follow the inputs.
std::map<std::string, Tensor> captured(const Values& args, const Kwargs& kwargs) {
  std::map<std::string, Tensor> values;
  const Value* names = find(kwargs, "_captures");
  if (!names) return values;
  const size_t count = names->items().size();
  SPARSEBIT_CHECK(args.size() >= count, InvalidModel, "captures ", count, " values but has ",
                  args.size(), " arguments");
  for (size_t i = 0; i < count; ++i)
    values[names->items()[i].string()] = as_tensor(args[args.size() - count + i]).detach();
  return values;
}

Values results_of(fx::Interpreter& interpreter, Values inputs, size_t count) {
  Value result = interpreter.run(std::move(inputs));
  if (count == 1) return {std::move(result)};
  return result.items();
}

Value joined(Values results) {
  return results.size() == 1 ? std::move(results[0]) : Value(fx::Tuple(std::move(results)));
}

Value run_if(const Values& args, const Kwargs& kwargs) {
  SPARSEBIT_CHECK(!args.empty(), InvalidModel, "If needs a condition");
  const char* branch = args[0].to_bool() ? "then_branch" : "else_branch";
  const auto module = import_inner_graph(inner_model(kwargs, branch), captured(args, kwargs),
                                         std::string("the ") + branch + " of If");
  fx::Interpreter interpreter(*module, fx::RunMode::Autograd);
  return interpreter.run({});
}

/// Declares a value that changes from one iteration to the next: only type and rank are known.
void describe_state(onnx::ValueInfoProto& input, const Tensor& first) {
  onnx::TypeProto_Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.Clear();
  type.set_elem_type(io::onnx_type_of(first.scalar_type()));
  type.mutable_shape();
  for (int64_t i = 0; i < first.dim(); ++i) type.mutable_shape()->add_dim();
}

/// One run of an ONNX Loop.
class Loop {
 public:
  Loop(const Values& args, const Kwargs& kwargs) : given_(captured(args, kwargs)) {
    const size_t inputs = args.size() - given_.size();
    SPARSEBIT_CHECK(inputs >= 2, InvalidModel, "Loop has ", inputs, " inputs");
    if (!args[0].is_none()) most_ = std::min(most_, args[0].to_int());
    if (!args[1].is_none()) goes_on_ = args[1].to_bool();
    for (size_t i = 2; i < inputs; ++i) states_.emplace_back(as_tensor(args[i]));
    read_body(inner_model(kwargs, "body"));
  }

  Value run() {
    fx::Interpreter interpreter(*body_, fx::RunMode::Autograd);
    const size_t results = 1 + states_.size() + scans_.size();
    for (int64_t i = 0; i < most_ && goes_on_; ++i) {
      SPARSEBIT_CHECK(i < kMostIterations, Unsupported, "Loop takes more than ", kMostIterations,
                      " iterations");
      Values inputs = {at::scalar_tensor(i, at::kLong), at::scalar_tensor(goes_on_, at::kBool)};
      inputs.insert(inputs.end(), states_.begin(), states_.end());
      Values found = results_of(interpreter, std::move(inputs), results);
      goes_on_ = found[0].to_bool();
      std::copy_n(found.begin() + 1, states_.size(), states_.begin());
      for (size_t k = 0; k < scans_.size(); ++k)
        scans_[k].push_back(as_tensor(found[1 + states_.size() + k]));
    }
    Values all = states_;
    for (size_t k = 0; k < scans_.size(); ++k)
      all.emplace_back(scans_[k].empty() ? empty_scans_[k] : at::stack(scans_[k]));
    return joined(std::move(all));
  }

 private:
  void read_body(onnx::ModelProto model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    const auto states = static_cast<int>(states_.size());
    SPARSEBIT_CHECK(graph.input_size() == 2 + states && graph.output_size() >= 1 + states,
                    InvalidModel, "the body of Loop has ", graph.input_size(), " inputs and ",
                    graph.output_size(), " results for ", states, " values");
    describe_state(*graph.mutable_input(0), at::scalar_tensor(0, at::kLong));
    describe_state(*graph.mutable_input(1), at::scalar_tensor(true, at::kBool));
    for (int i = 0; i < states; ++i)
      describe_state(*graph.mutable_input(2 + i), states_[static_cast<size_t>(i)].tensor());
    for (int i = 1 + states; i < graph.output_size(); ++i) {
      const onnx::TypeProto_Tensor& type = graph.output(i).type().tensor_type();
      std::vector<int64_t> shape = {0};
      for (const auto& dim : type.shape().dim())
        shape.push_back(std::max<int64_t>(dim.dim_value(), 0));
      const auto dtype = io::scalar_type_of(type.elem_type()).value_or(at::kFloat);
      empty_scans_.push_back(at::empty(shape, dtype));
    }
    scans_.resize(empty_scans_.size());
    body_ = import_inner_graph(std::move(model), given_, "the body of Loop");
  }

  std::map<std::string, Tensor> given_;
  int64_t most_ = std::numeric_limits<int64_t>::max();
  bool goes_on_ = true;
  Values states_;
  std::vector<std::vector<Tensor>> scans_;  // by result, of each iteration
  std::vector<Tensor> empty_scans_;         // the results of a loop without iterations
  std::unique_ptr<fx::GraphModule> body_;
};

Value run_loop(const Values& args, const Kwargs& kwargs) { return Loop(args, kwargs).run(); }

bool is_known(const onnx::GraphProto& graph) {
  return std::all_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    const std::string target = "onnx." + node.op_type();
    const bool known = node.op_type() == "Size" || converters().contains(node.op_type()) ||
                       fx::operators().find(target) || fx::graph_operators().contains(target);
    bool inside = true;
    io::for_each_graph(node, [&](const onnx::GraphProto& inner) { inside &= is_known(inner); });
    return io::is_default_domain(node.domain()) && known && inside;
  });
}

bool can_run(const Kwargs& kwargs) {
  return std::all_of(kwargs.begin(), kwargs.end(), [](const auto& item) {
    const auto attribute = item.first.starts_with('_') ? std::nullopt : attribute_of(item.second);
    return !attribute || !attribute->has_g() || is_known(attribute->g());
  });
}

}  // namespace

void add_control_flow() {
  static std::once_flag once;
  std::call_once(once, [] {
    fx::graph_operators().add("onnx.If", {run_if, can_run});
    fx::graph_operators().add("onnx.Loop", {run_loop, can_run});
  });
}

}  // namespace sparsebit::frontends
