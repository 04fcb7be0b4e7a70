// Leaves of traced files. Tracing does not keep the attributes of a layer, but its forward
// determines them: it is one call of the layer's operator with constants.

#include "frontends/torchscript/layer_call.h"
#include "frontends/torchscript/leaf.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

/// Inlines all calls: there are no leaves inside a leaf.
class NoLeaves : public ModuleCalls {
 public:
  std::optional<ScriptValue> call_leaf(Interpreter&, const torch::jit::Module&, const std::string&,
                                       const std::string&, const ScriptValues&) override {
    return std::nullopt;
  }
};

/// The only call of the layer's operator; null when there is none or more than one.
const fx::Node* find_core(const fx::Graph& graph, const fx::Spelling& spelling,
                          const fx::Module& root) {
  const fx::Node* core = nullptr;
  for (const fx::Node& node : graph.nodes()) {
    const fx::Spelling* found = fx::find_spelling(node, root);
    if (!found || !same_operator(*found->op, *spelling.op)) continue;
    if (core) return nullptr;
    core = &node;
  }
  return core;
}

/// Whether the code has side effects other than updating num_batches_tracked.
bool has_other_effects(const fx::Graph& graph, const fx::Node& core, const fx::Module& root) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const fx::Node& node) {
    if (&node == &core || !fx::mutates_input(node, root)) return false;
    const fx::Node* changed = node.inputs().empty() ? nullptr : node.inputs()[0];
    return !changed || !changed->target().ends_with("num_batches_tracked");
  });
}

bool only_placeholders(const Value& value) {
  bool result = true;
  value.for_each_node([&](fx::Node& node) { result &= node.op() == fx::Opcode::Placeholder; });
  return result;
}

/// Whether the code uses only the values of adaptive max pooling, which always returns the indices
/// as well.
bool wants_first_only(const Value& output, const fx::Node& core) {
  bool result = core.target().find("adaptive_max_pool") != std::string::npos;
  output.for_each_node(
      [&](fx::Node& node) { result &= &node != &core && node.args().at(1).same_as(0); });
  return result;
}

/// Whether the results are those of the operator, or items of them.
bool is_result(const Value& output, const fx::Node& core) {
  bool result = true;
  output.for_each_node([&](fx::Node& node) {
    const bool part = node.target() == "operator.getitem" && node.args().at(0).is_node() &&
                      &node.args()[0].node() == &core && node.args().at(1).is_int();
    result &= &node == &core || part;
  });
  return result && output.contains_node();
}

}  // namespace

namespace {

/// Runs the code of the leaf on placeholders; false when that is not possible.
///
/// @param given  the arguments of a call, which include parameters shared with another layer.
bool read_code(GraphBuilder& builder, SourceModel& source, const torch::jit::Module& module,
               torch::jit::Function& method, const ScriptValues& given, TracedLeaf& leaf) {
  NoLeaves no_leaves;
  Interpreter interpreter(builder, source, no_leaves);
  ScriptValues args = {ObjectRef{module._ivalue()}};
  for (const ScriptValue& arg : given) {
    fx::Node& input = builder.graph().placeholder("input");
    leaf.placeholders.push_back(&input);
    args.push_back(arg.is_tensor() ? arg : ScriptValue(Value(input)));
  }
  try {
    leaf.output = builder.argument(interpreter.run_function(method, std::move(args)));
    return true;
  } catch (const Error&) {
    return false;  // inlining the module will report the error
  }
}

}  // namespace

std::optional<TracedLeaf> leaf_from_graph(const fx::Spelling& spelling,
                                          const torch::jit::Module& module,
                                          torch::jit::Function& method, const ScriptValues& args,
                                          SourceModel& source) {
  GraphBuilder builder(source);
  TracedLeaf leaf;
  if (!read_code(builder, source, module, method, args, leaf)) return std::nullopt;
  fx::Module& root = source.root();
  leaf.core = find_core(builder.graph(), spelling, root);
  if (!leaf.core && spelling.op->name == "multi_head_attention") {
    leaf.graph = builder.take_graph();
    const fx::Module& mirror = *root.find(*source.path_of(module._ivalue()));
    return attention_from_code(spelling, mirror, source, std::move(leaf));
  }
  if (!leaf.core || has_other_effects(builder.graph(), *leaf.core, root)) return std::nullopt;
  if (!is_result(leaf.output, *leaf.core)) return std::nullopt;
  leaf.first_only = wants_first_only(leaf.output, *leaf.core);
  const fx::Module& mirror = *root.find(*source.path_of(module._ivalue()));
  const auto inside = [](const fx::Node&) { return true; };
  auto call = layer_of_call(spelling, *leaf.core, mirror, root,
                            {.first_only = leaf.first_only, .inside = inside});
  if (!call || !std::all_of(call->inputs.begin(), call->inputs.end(), only_placeholders))
    return std::nullopt;
  leaf.module = std::move(call->module);
  leaf.inputs = std::move(call->inputs);
  leaf.graph = builder.take_graph();
  return leaf;
}

namespace {

ScriptValue to_datum(const Value& value) {
  if (!value.is_sequence()) return value;
  ScriptValues items;
  for (const Value& item : value.items()) items.push_back(to_datum(item));
  return value.is<fx::List>() ? ScriptValue::list(std::move(items))
                              : ScriptValue::tuple(std::move(items));
}

}  // namespace

ScriptValue call_traced(GraphBuilder& builder, const TracedLeaf& leaf, const std::string& path,
                        const ScriptValues& args) {
  std::vector<Value> inputs;
  for (const Value& input : leaf.inputs) {
    inputs.push_back(input.map_nodes([&](fx::Node& node) {
      const auto place = std::find(leaf.placeholders.begin(), leaf.placeholders.end(), &node);
      return builder.argument(args.at(place - leaf.placeholders.begin()));
    }));
  }
  const std::vector<fx::Parameter>& parameters = leaf.module->forward_schema().parameters();
  while (!inputs.empty() && parameters[inputs.size() - 1].default_value &&
         parameters[inputs.size() - 1].default_value->same_as(inputs.back()))
    inputs.pop_back();
  const Value result = builder.module(path, std::move(inputs));
  const bool nested = leaf.module->type() == "torch.nn.LSTM";  // (output, (h, c))
  std::map<const fx::Node*, Value> parts = {{leaf.core, result}};
  return to_datum(leaf.output.map_nodes([&](fx::Node& node) {
    Value& part = parts[&node];
    if (leaf.first_only) return result;
    if (!part.is_none()) return part;
    const int64_t index = node.args()[1].to_int();
    part = nested && index > 0 ? builder.getitem(builder.getitem(result, 1), index - 1)
                               : builder.getitem(result, index);
    return part;
  }));
}

}  // namespace sparsebit::frontends::torchscript
