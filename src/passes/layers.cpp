#include "passes/layers.h"

#include "passes/values.h"
#include "sparsebit/passes/rewriter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sparsebit::passes {
namespace {

/// Arguments of these operators that are also constructor arguments of the module.
constexpr std::array kOptions = {"stride",   "padding", "output_padding",
                                 "dilation", "groups",  "padding_mode"};

/// Facts about the weight of an operator that multiplies its input with a weight; null for others.
const fx::WeightFacts* facts_of(const NodeView& view) {
  const bool is_layer = view.call && view.call->op->weight && !view.call->op->weight->looks_up;
  return is_layer ? &*view.call->op->weight : nullptr;
}

int64_t groups_of(const NodeView& view) {
  return view.call->args.has("groups") ? view.arg("groups").to_int() : 1;
}

/// Whether all options of the call are constants, so that a module can have them.
bool has_fixed_options(const NodeView& view) {
  const fx::Args& args = view.call->args;
  for (const char* name : kOptions) {
    if (args.has(name) && args[name].contains_node()) return false;
  }
  if (args.has("groups") && (!args["groups"].is_int() || args["groups"].to_int() < 1)) return false;
  const bool is_module = view.node->op() == fx::Opcode::CallModule;
  return is_module || !args.has("output_size") || args["output_size"].is_none();
}

/// Whether the weight has the shape that the operator needs.
bool fits_together(const Layer& layer, const fx::WeightFacts& facts) {
  return layer.weight.dim() == facts.spatial_axes + 2 && layer.weight.numel() > 0 &&
         layer.weight.size(0) % layer.groups == 0 &&
         (!layer.bias.defined() || layer.bias.sizes() == at::IntArrayRef({layer.outputs()}));
}

fx::Kwargs constructor_options(const NodeView& view) {
  fx::Kwargs options;
  for (const char* name : kOptions) {
    if (view.call->args.has(name)) options.emplace_back(name, view.arg(name));
  }
  return options;
}

}  // namespace

const std::vector<std::string>& layer_operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const fx::Operator* op : fx::operators().all()) {
      if (op->weight && !op->weight->looks_up) list.push_back(op->name);
    }
    return list;
  }();
  return names;
}

int64_t batched_rank(const NodeView& layer) { return facts_of(layer)->spatial_axes + 2; }

int64_t Layer::outputs() const { return transposed ? weight.size(1) * groups : weight.size(0); }

int64_t Layer::inputs() const { return transposed ? weight.size(0) : weight.size(1) * groups; }

bool Layer::is_finite() const {
  const auto finite = [](const at::Tensor& t) {
    if (t.numel() == 0) return true;
    const bool is_short = t.element_size() < 4;  // libtorch has no aminmax() for these types
    const auto [low, high] = at::aminmax(is_short ? t.to(at::kFloat) : t);  // NaN if any element is
    return std::isfinite(low.item<double>()) && std::isfinite(high.item<double>());
  };
  return finite(weight) && (!bias.defined() || finite(bias));
}

at::Tensor Layer::grouped() const {
  const at::Tensor split = weight.reshape({groups, weight.size(0) / groups, weight.size(1), -1});
  return transposed ? split.transpose(1, 2) : split;
}

at::Tensor Layer::ungrouped(const at::Tensor& grouped) const {
  return (transposed ? grouped.transpose(1, 2) : grouped).reshape(weight.sizes()).contiguous();
}

at::Tensor Layer::with_outputs_times(const at::Tensor& factor) const {
  return ungrouped(grouped() * factor.view({groups, outputs() / groups, 1, 1}));
}

at::Tensor Layer::with_inputs_times(const at::Tensor& factor) const {
  return ungrouped(grouped() * factor.view({groups, 1, inputs() / groups, 1}));
}

std::optional<Layer> read_layer(const NodeView& view, const Rewriter& rewriter) {
  const fx::WeightFacts* facts = facts_of(view);
  if (!facts || !has_fixed_options(view)) return std::nullopt;
  const at::Tensor* weight = constant_tensor(view.arg("weight"), rewriter);
  const at::Tensor* bias = constant_tensor(view.arg("bias"), rewriter);
  if (!weight || !weight->is_floating_point() || (!bias && !view.arg("bias").is_none()))
    return std::nullopt;
  const Layer layer{.weight = *weight,
                    .bias = bias ? *bias : at::Tensor(),
                    .groups = groups_of(view),
                    .transposed = facts->transposed(),
                    .trained = weight->requires_grad(),
                    .bias_trained = bias && bias->requires_grad()};
  return fits_together(layer, *facts) ? std::optional(layer) : std::nullopt;
}

bool agree_on_channels(const NodeView& layer, const NodeView& norm, const Rewriter& rewriter) {
  const int64_t rank = batched_rank(layer);
  const fx::Value& told = norm.arg("spatial_dims");
  // A BatchNorm2d or 3d takes batches of this rank only.
  const bool by_norm = rank > 3 && told.is_int() && told.to_int() + 2 == rank;
  return by_norm || rank_of(layer.arg("input"), rewriter) == rank;
}

fx::ModulePtr make_layer(const NodeView& view, const Layer& layer, const fx::Kwargs& changes) {
  const fx::Operator& op = *view.call->op;
  fx::Kwargs options = constructor_options(view);
  for (const auto& [name, value] : changes) {
    for (auto& option : options) {
      if (option.first == name) option.second = value;
    }
  }
  options.emplace_back("bias", layer.bias.defined());
  std::vector<fx::Value> sizes = {layer.inputs(), layer.outputs()};
  if (op.weight->spatial_axes > 0) sizes.emplace_back(layer.weight.sizes().slice(2).vec());
  const auto parameter = [](at::Tensor tensor, bool trained) {
    return trained && !tensor.requires_grad() ? tensor.requires_grad_() : tensor;
  };
  fx::TensorList parameters = {{"weight", parameter(layer.weight, layer.trained)}, {"bias", {}}};
  if (layer.bias.defined()) parameters[1].second = parameter(layer.bias, layer.bias_trained);
  return fx::make_module(op.modules.front().type, sizes, options,
                         {.parameters = std::move(parameters), .buffers = {}}, fx::Grad::AsGiven);
}

bool is_part_of_others(const std::string& path, const Rewriter& rewriter) {
  std::string outer = path;
  while (!(outer = fx::split_path(outer).first).empty()) {
    const fx::ModulePtr module = rewriter.module().find_module(outer);
    if (rewriter.index().calls_of(outer) > 0) return true;
    if (module && rewriter.index().is_shared(*module)) return true;
  }
  return false;
}

bool owns_module(const NodeView& view, const Rewriter& rewriter) {
  return view.node->op() == fx::Opcode::CallModule &&
         rewriter.index().calls_of(view.node->target()) == 1 &&
         !rewriter.index().is_read_inside(view.node->target()) &&
         !is_part_of_others(view.node->target(), rewriter);
}

bool owns_tensors(const NodeView& view, const Rewriter& rewriter) {
  const auto is_own = [&](const char* name) {
    const fx::Value& value = view.arg(name);
    return !value.is_tensor() || rewriter.index().readers_of(value.tensor()) == 1;
  };
  return owns_module(view, rewriter) && is_own("weight") && is_own("bias");
}

void set_layer(const NodeView& view, fx::ModulePtr layer, Rewriter& rewriter) {
  const std::string& path = view.node->target();
  layer->train(rewriter.module().find_module(path)->is_training());
  rewriter.module().set_module(path, std::move(layer));
  rewriter.touch(*view.node);
}

}  // namespace sparsebit::passes
