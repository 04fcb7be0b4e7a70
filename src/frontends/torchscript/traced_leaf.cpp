// Leaves of traced files. Tracing keeps no attributes of a layer, but its forward says what they
// were: it is one call of the layer's operator with constants.

#include "frontends/torchscript/leaf.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

/// Inside a leaf there are no leaves.
class NoLeaves : public ModuleCalls {
 public:
  std::optional<ScriptValue> call_leaf(Interpreter&, const torch::jit::Module&, const std::string&,
                                       const std::string&, const ScriptValues&) override {
    return std::nullopt;
  }
};

bool is_dropout_of_channels(const std::string& op) {
  return op == "dropout1d" || op == "dropout2d" || op == "dropout3d";
}

/// The same operator; torch computes all dropouts of whole channels with one.
bool same_operator(const fx::Operator& a, const fx::Operator& b) {
  return &a == &b || (is_dropout_of_channels(a.name) && is_dropout_of_channels(b.name));
}

/// The one call of the layer's operator; null when there is none or several.
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

/// Whether the code changes anything but its own result and the count of batches.
bool has_other_effects(const fx::Graph& graph, const fx::Node& core, const fx::Module& root) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const fx::Node& node) {
    if (&node == &core || !fx::mutates_input(node, root)) return false;
    const fx::Node* changed = node.inputs().empty() ? nullptr : node.inputs()[0];
    return !changed || !changed->target().ends_with("num_batches_tracked");
  });
}

/// Constructor arguments that only the shapes of the parameters tell.
std::optional<Value> from_shapes(const fx::Module& mirror, const fx::Args& core,
                                 const std::string& op, const std::string& name) {
  const auto size = [&](const char* tensor, int64_t dim) -> std::optional<Value> {
    const at::Tensor* found = mirror.find_tensor(tensor);
    if (!found || !found->defined() || found->dim() <= dim) return std::nullopt;
    return Value(found->size(dim));
  };
  const auto first_of = [](std::optional<Value> a, std::optional<Value> b) { return a ? a : b; };
  const bool transposed = op.starts_with("conv_transpose");
  const auto grouped = [&](std::optional<Value> count) -> std::optional<Value> {
    if (!count) return std::nullopt;
    return Value(count->to_int() * core.integer("groups"));
  };
  if (name == "in_channels") return transposed ? size("weight", 0) : grouped(size("weight", 1));
  if (name == "out_channels") return transposed ? grouped(size("weight", 1)) : size("weight", 0);
  if (name == "kernel_size" && mirror.find_tensor("weight"))
    return Value(mirror.find_tensor("weight")->sizes().slice(2).vec());
  if (name == "in_features" || name == "embedding_dim" || name == "in1_features")
    return size("weight", 1);
  if (name == "in2_features") return size("weight", 2);
  if (name == "out_features" || name == "num_embeddings" || name == "num_parameters")
    return size("weight", 0);
  if (name == "num_features" || name == "num_channels")
    return first_of(first_of(size("weight", 0), size("running_mean", 0)), Value());
  if (name == "input_size") return first_of(size("weight_ih_l0", 1), size("weight_ih", 1));
  if (name == "proj_size") return first_of(size("weight_hr_l0", 0), Value(0));
  if (name == "hidden_size")
    return first_of(first_of(size("weight_hr_l0", 1), size("weight_hh_l0", 1)),
                    size("weight_hh", 1));
  return std::nullopt;
}

/// The constructor's arguments as the code shows them; nothing when one stays unknown.
std::optional<fx::Kwargs> constructor_of(const fx::Spelling& spelling, const fx::Args& core,
                                         const fx::Module& mirror) {
  fx::Kwargs result;
  for (const fx::Parameter& p : spelling.module->constructor.parameters()) {
    std::optional<Value> value = implied_argument(mirror, p.name);
    if (!value) value = from_shapes(mirror, core, spelling.op->name, p.name);
    if (!value && core.has(p.name)) value = core[p.name];
    if (value && value->contains_node()) return std::nullopt;
    if (!value && !p.default_value) return std::nullopt;
    if (value) result.emplace_back(p.name, *value);
  }
  return result;
}

/// Padding that is not with zeros is a step of its own before the convolution.
struct Padding {
  std::string mode;
  Value sizes;
  Value input;
};

std::optional<Padding> padding_before(const fx::Node& core, const fx::Args& args,
                                      const fx::Module& root) {
  if (!core.target().starts_with("torch.conv") || !args["input"].is_node()) return std::nullopt;
  const auto pad = fx::resolve(args["input"].node(), root);
  if (!pad || pad->op->name != "pad" || pad->args["padding"].contains_node()) return std::nullopt;
  const std::vector<int64_t> pairs = pad->args["padding"].ints();
  std::vector<int64_t> sizes;
  for (size_t i = pairs.size(); i >= 2; i -= 2) {  // last axis first, both ends of each
    if (pairs[i - 1] != pairs[i - 2]) return std::nullopt;
    sizes.push_back(pairs[i - 1]);
  }
  return Padding{pad->args.text("mode"), Value(sizes), pad->args["input"]};
}

bool is_zeros(const Value& value) {
  return value.is_node() && value.node().target() == "torch.zeros";
}

/// The initial state of recurrent layers: zeros are what the layer takes when none is given.
Value recurrent_state(const Value& hx) {
  if (is_zeros(hx)) return {};
  if (!hx.is_sequence()) return hx;
  const std::vector<Value>& items = hx.items();
  if (std::all_of(items.begin(), items.end(), is_zeros)) return {};
  return fx::Tuple(items);
}

bool only_placeholders(const Value& value) {
  bool result = true;
  value.for_each_node([&](fx::Node& node) { result &= node.op() == fx::Opcode::Placeholder; });
  return result;
}

/// Whether two arguments are the same for the operator. A get_attr node is its tensor.
bool agree(const Value& ours, const Value& theirs, const fx::Module& root) {
  if (theirs.is_node() && theirs.node().op() == fx::Opcode::GetAttr) {
    const at::Tensor* tensor = root.find_tensor(theirs.node().target());
    return tensor && ours.is_tensor() && ours.tensor().is_same(*tensor);
  }
  if (ours.is_sequence() && theirs.is_sequence()) {
    const auto &a = ours.items(), &b = theirs.items();
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(),
                      [&](const Value& x, const Value& y) { return agree(x, y, root); });
  }
  const bool nothing = ours.is_none() || theirs.is_none();
  if (nothing && (ours.is_number() || theirs.is_number())) {  // None is zero where a number may be
    return (ours.is_number() ? ours : theirs).to_double() == 0;
  }
  if (ours.is_number() && theirs.is_number()) return ours.to_double() == theirs.to_double();
  return ours.same_as(theirs);
}

/// Whether the module gives its operator what the code gave it.
bool computes_the_same(const TracedLeaf& leaf, const fx::Spelling& spelling, const fx::Args& core,
                       const fx::Module& root) {
  static const std::vector<std::string> of_modules = {"num_batches_tracked",
                                                      "track_running_stats",
                                                      "spatial_dims",
                                                      "nested_state",
                                                      "padding_mode",
                                                      "padding",
                                                      "proj_size",
                                                      "use_input_stats",
                                                      "training",
                                                      "inplace"};
  const fx::Args in(spelling.module->forward, leaf.inputs);
  const fx::Args ours = fx::bind_module(*leaf.module, spelling, in);
  for (const fx::Parameter& p : spelling.op->schema.parameters()) {
    const bool exempt = std::find(of_modules.begin(), of_modules.end(), p.name) != of_modules.end();
    if (exempt || in.has(p.name)) continue;
    if (!agree(ours[p.name], core[p.name], root)) return false;
  }
  return true;
}

/// The mode in which the layer was traced; the flag of the module may have changed since.
bool traced_mode(const fx::Args& core, const fx::Module& mirror) {
  const bool statistics = core.has("use_input_stats");  // of instance norm, which may have none
  if (statistics && core["running_mean"].is_none()) return mirror.is_training();
  const char* flag = statistics ? "use_input_stats" : "training";
  return core.has(flag) && core[flag].is_bool() ? core[flag].get<bool>() : mirror.is_training();
}

/// The layer's own tensors. A tensor that two layers share is in a traced file only once, so that
/// the second has it in its code alone.
fx::ModulePtr with_shared_tensors(const fx::Module& mirror, const fx::Args& core,
                                  const fx::Module& root) {
  auto result = std::make_shared<fx::Module>(mirror.type(), fx::Schema());
  result->set_training(mirror.is_training());
  for (const auto& item : mirror.children()) result->add_module(item.key(), item.value());
  for (const auto& item : mirror.own_parameters())
    result->add_parameter(item.key(), item.value(), fx::Grad::AsGiven);
  for (const auto& item : mirror.own_buffers()) result->add_buffer(item.key(), item.value());
  for (const char* name : {"weight", "bias"}) {
    const at::Tensor* own = mirror.find_tensor(name);
    if ((own && own->defined()) || !core.has(name)) continue;
    const Value& used = core[name];
    if (!used.is_node() || used.node().op() != fx::Opcode::GetAttr) continue;
    if (const at::Tensor* shared = root.find_tensor(used.node().target()))
      result->add_parameter(name, *shared, fx::Grad::AsGiven);
  }
  return result;
}

/// Adaptive max pooling always gives the indices too, wanted or not.
bool wants_first_only(const Value& output, const fx::Node& core) {
  bool result = core.target().find("adaptive_max_pool") != std::string::npos;
  output.for_each_node(
      [&](fx::Node& node) { result &= &node != &core && node.args().at(1).same_as(0); });
  return result;
}

/// Results are the operator's own, or parts of it.
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
/// @param given  the arguments of a call: a parameter that the layer shares with another is one.
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
    return false;  // entering it will tell
  }
}

/// The arguments of our module's forward, in terms of placeholders; false when others are needed.
bool read_inputs(const fx::Spelling& spelling, const fx::Args& core,
                 const std::optional<Padding>& padding, TracedLeaf& leaf) {
  for (const fx::Parameter& p : spelling.module->forward.parameters()) {
    Value value = core[p.name];
    if (padding && p.name == "input") value = padding->input;
    if (p.name == "hx") value = recurrent_state(value);
    if (!only_placeholders(value)) return false;
    leaf.inputs.push_back(std::move(value));
  }
  return true;
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
  const fx::Args core = fx::resolve(*leaf.core, root)->args;
  const fx::ModulePtr mirror =
      with_shared_tensors(*root.find(*source.path_of(module._ivalue())), core, root);
  auto constructor = constructor_of(spelling, core, *mirror);
  if (!constructor || !is_result(leaf.output, *leaf.core)) return std::nullopt;
  const auto padding = padding_before(*leaf.core, core, root);
  leaf.first_only = wants_first_only(leaf.output, *leaf.core);
  for (auto& [name, value] : *constructor) {
    if (padding && name == "padding") value = padding->sizes;
    if (padding && name == "padding_mode") value = padding->mode;
    if (leaf.first_only && name == "return_indices") value = false;
  }
  if (!read_inputs(spelling, core, padding, leaf)) return std::nullopt;
  leaf.module = make_leaf(spelling, *constructor, *mirror);
  leaf.module->set_training(traced_mode(core, *mirror));
  if (!computes_the_same(leaf, spelling, core, root)) return std::nullopt;
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
