#include "sparsebit/quant/placement/quant_operators.h"

namespace sparsebit::quant {
namespace {

using Names = std::vector<std::string>;

// What the ancestor knows of convolutions of images is true of all convolutions.
const Names kLayers = {"conv1d",           "conv2d",           "conv3d",     "conv_transpose1d",
                       "conv_transpose2d", "conv_transpose3d", "batch_norm", "linear"};

Names with(Names names, const std::string& more) {
  names.push_back(more);
  return names;
}

}  // namespace

Registry<QuantOperator>& quant_operators() {
  static Registry<QuantOperator> registry = [] {
    Registry<QuantOperator> r("quantizable operator");
    const QuantOperator layer{.inputs = {"input"}, .weight = "weight"};
    const QuantOperator transposed{.inputs = {"input"}, .weight = "weight", .weight_axis = 1};
    for (const char* name : {"conv1d", "conv2d", "conv3d", "linear"}) r.add(name, layer);
    for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
      r.add(name, transposed);
    r.add("embedding", {.weight = "weight"});
    for (const char* name : {"relu", "relu6"})
      r.add(name, {.inputs = {"input"}, .runs_with = with(kLayers, "add")});
    for (const char* name :
         {"sigmoid", "leaky_relu", "mish", "silu", "hardsigmoid", "prelu", "elu", "hardswish"})
      r.add(name, {.inputs = {"input"}, .runs_with = kLayers});
    r.add("gelu", {.inputs = {"input"}, .runs_with = {"linear"}});
    for (const char* name : {"tanh", "softmax", "mean", "layer_norm", "group_norm", "avg_pool1d",
                             "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
                             "adaptive_avg_pool2d", "adaptive_avg_pool3d", "identity"})
      r.add(name, {.inputs = {"input"}});
    r.add("interpolate", {.inputs = {"input"}, .bits = 8});  // as the ancestor does
    r.add("add", {.inputs = {"input", "other"}, .joins = true, .only_if_asked = true});
    r.add("matmul", {.inputs = {"input", "other"}, .joins = true});
    r.add("bmm", {.inputs = {"input", "mat2"}, .joins = true});
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::quant
