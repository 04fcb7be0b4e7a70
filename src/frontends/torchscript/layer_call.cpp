#include "frontends/torchscript/layer_call.h"

#include "frontends/torchscript/leaf.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

bool is_dropout_of_channels(const std::string& op) {
  return op == "dropout1d" || op == "dropout2d" || op == "dropout3d";
}

/// Constructor arguments that follow only from the shapes of the parameters.
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

/// The constructor's arguments derived from the code; empty when one stays unknown.
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

/// Padding with other values than zeros, which is a separate node before the convolution.
struct Padding {
  std::string mode;
  Value sizes;
  Value input;
};

std::optional<Padding> padding_before(const fx::Node& core, const fx::Args& args,
                                      const fx::Module& root, const LayerCallFacts& facts) {
  if (!core.target().starts_with("torch.conv") || !args["input"].is_node()) return std::nullopt;
  if (!facts.inside(args["input"].node())) return std::nullopt;
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

/// The initial state of recurrent layers: None if it is zeros, the layer's default.
Value recurrent_state(const Value& hx) {
  if (is_zeros(hx)) return {};
  if (!hx.is_sequence()) return hx;
  const std::vector<Value>& items = hx.items();
  if (std::all_of(items.begin(), items.end(), is_zeros)) return {};
  return fx::Tuple(items);
}

/// Whether two arguments are the same for the operator. A get_attr node counts as its tensor.
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
  if (nothing && (ours.is_number() || theirs.is_number())) {  // None means 0 for a numeric argument
    return (ours.is_number() ? ours : theirs).to_double() == 0;
  }
  if (ours.is_number() && theirs.is_number()) return ours.to_double() == theirs.to_double();
  return ours.same_as(theirs);
}

/// Whether the module passes the same arguments to its operator as the code does.
bool computes_the_same(const LayerCall& layer, const fx::Spelling& spelling, const fx::Args& core,
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
  const fx::Args in(spelling.module->forward, layer.inputs);
  const fx::Args ours = fx::bind_module(*layer.module, spelling, in);
  for (const fx::Parameter& p : spelling.op->schema.parameters()) {
    const bool exempt = std::find(of_modules.begin(), of_modules.end(), p.name) != of_modules.end();
    if (exempt || in.has(p.name)) continue;
    if (!agree(ours[p.name], core[p.name], root)) return false;
  }
  return true;
}

/// Whether the layer was traced in training mode; the module's flag may have changed since.
bool traced_mode(const fx::Args& core, const fx::Module& mirror) {
  const bool statistics = core.has("use_input_stats");  // of instance norm, which may have none
  if (statistics && core["running_mean"].is_none()) return mirror.is_training();
  const char* flag = statistics ? "use_input_stats" : "training";
  return core.has(flag) && core[flag].is_bool() ? core[flag].get<bool>() : mirror.is_training();
}

/// The layer's own tensors. A tensor that two layers share is stored only once in a traced file, so
/// that the second layer has it only in its code.
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

/// The arguments of a call for the layer's forward.
std::vector<Value> forward_inputs(const fx::Spelling& spelling, const fx::Args& core,
                                  const std::optional<Padding>& padding) {
  std::vector<Value> inputs;
  for (const fx::Parameter& p : spelling.module->forward.parameters()) {
    Value value = core[p.name];
    if (padding && p.name == "input") value = padding->input;
    if (p.name == "hx") value = recurrent_state(value);
    inputs.push_back(std::move(value));
  }
  return inputs;
}

}  // namespace

bool same_operator(const fx::Operator& a, const fx::Operator& b) {
  return &a == &b || (is_dropout_of_channels(a.name) && is_dropout_of_channels(b.name));
}

std::optional<LayerCall> layer_of_call(const fx::Spelling& spelling, const fx::Node& call,
                                       const fx::Module& tensors, const fx::Module& root,
                                       const LayerCallFacts& facts) {
  const fx::Args core = fx::resolve(call, root)->args;
  const fx::ModulePtr mirror = with_shared_tensors(tensors, core, root);
  auto constructor = constructor_of(spelling, core, *mirror);
  if (!constructor) return std::nullopt;
  const auto padding = padding_before(call, core, root, facts);
  for (auto& [name, value] : *constructor) {
    if (padding && name == "padding") value = padding->sizes;
    if (padding && name == "padding_mode") value = padding->mode;
    if (facts.first_only && name == "return_indices") value = false;
  }
  LayerCall layer{make_leaf(spelling, *constructor, *mirror),
                  forward_inputs(spelling, core, padding)};
  layer.module->set_training(traced_mode(core, *mirror));
  if (!computes_the_same(layer, spelling, core, root)) return std::nullopt;
  return layer;
}

}  // namespace sparsebit::frontends::torchscript
