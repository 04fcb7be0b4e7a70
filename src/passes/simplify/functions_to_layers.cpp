#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::passes {
namespace {

bool is_function(const NodeView& view) { return view.node->op() != fx::Opcode::CallModule; }

/// Whether a module holds only tensors of the layer and cannot be called.
bool can_become(const fx::Module& holder, const std::string& path, const fx::Module& layer,
                const Rewriter& rewriter) {
  const auto is_of_layer = [&](const auto& item) {
    const at::Tensor* own = layer.find_tensor(item.key());
    return own && own->is_same(item.value());
  };
  const fx::NamedTensors& tensors = holder.own_parameters();
  const bool empty = holder.children().is_empty() && holder.own_buffers().is_empty() &&
                     holder.attributes().is_empty();
  return empty && !holder.is_operator() && !rewriter.index().is_shared(holder) &&
         rewriter.index().calls_of(path) == 0 && !is_part_of_others(path, rewriter) &&
         std::all_of(tensors.begin(), tensors.end(), is_of_layer);
}

/// "fc" for a layer of fc.weight and fc.bias, if the module holds nothing else; else the node's
/// name.
std::string path_for(const NodeView& view, const fx::Module& layer, const Rewriter& rewriter) {
  for (const char* name : {"bias", "weight"}) {
    const fx::Value& value = view.arg(name);
    if (!value.is_node()) continue;
    const auto [path, tensor] = fx::split_path(value.node().target());
    const fx::ModulePtr holder = rewriter.module().find_module(path);
    if (tensor == name && holder && can_become(*holder, path, layer, rewriter)) return path;
  }
  return rewriter.free_path(view.node->name());
}

fx::Node& call_of(const NodeView& view, fx::ModulePtr layer, Rewriter& rewriter) {
  const std::string path = path_for(view, *layer, rewriter);
  layer->train(rewriter.module().is_training());
  rewriter.module().set_module(path, std::move(layer));
  return rewriter.graph().call_module(path, {view.arg("input")});
}

Replacements to_weighted_layer(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["call"];
  const std::optional<Layer> layer = read_layer(view, rewriter);
  if (!layer) return {};
  return {{view.node, call_of(view, make_layer(view, *layer), rewriter)}};
}

Replacements to_layer_norm(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["call"];
  const at::Tensor* weight = constant_tensor(view.arg("weight"), rewriter);
  const at::Tensor* bias = constant_tensor(view.arg("bias"), rewriter);
  const bool fixed = !view.arg("normalized_shape").contains_node() && view.arg("eps").is_number();
  if (!weight || !bias || !fixed) return {};
  const std::vector<fx::Value> shape = {view.arg("normalized_shape")};
  fx::ModulePtr layer = fx::make_module(
      "torch.nn.LayerNorm", shape, {{"eps", view.arg("eps")}},
      {.parameters = {{"weight", *weight}, {"bias", *bias}}, .buffers = {}}, fx::Grad::AsGiven);
  return {{view.node, call_of(view, std::move(layer), rewriter)}};
}

}  // namespace

Pass functions_to_layers() {
  const auto function = [](std::vector<std::string> operators) {
    return Pattern({{.name = "call", .operators = std::move(operators), .check = is_function}});
  };
  return {.name = "functions_to_layers",
          .summary = "turn calls of conv, linear and layer_norm with constant weights into modules",
          .stage = Stage::Simplify,
          .rules = {{function(layer_operators()), to_weighted_layer},
                    {function({"layer_norm"}), to_layer_norm}}};
}

}  // namespace sparsebit::passes
