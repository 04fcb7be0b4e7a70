#include "sparsebit/quant/placement/quant_operators.h"

#include <set>

namespace sparsebit::quant {

Registry<QuantOperator>& quant_operators() {
  static Registry<QuantOperator> registry = [] {
    Registry<QuantOperator> r("quantizable operator");
    const QuantOperator layer{.inputs = {"input"}, .weight = "weight"};
    const QuantOperator transposed{.inputs = {"input"}, .weight = "weight", .weight_axis = 1};
    const QuantOperator feature{.inputs = {"input"}};
    for (const char* name : {"conv1d", "conv2d", "conv3d", "linear"}) r.add(name, layer);
    for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
      r.add(name, transposed);
    r.add("embedding", {.weight = "weight"});
    for (const char* name : {"relu",
                             "relu6",
                             "leaky_relu",
                             "prelu",
                             "elu",
                             "sigmoid",
                             "hardsigmoid",
                             "silu",
                             "hardswish",
                             "mish",
                             "gelu",
                             "tanh",
                             "softmax",
                             "mean",
                             "layer_norm",
                             "group_norm",
                             "avg_pool1d",
                             "avg_pool2d",
                             "avg_pool3d",
                             "adaptive_avg_pool1d",
                             "adaptive_avg_pool2d",
                             "adaptive_avg_pool3d",
                             "interpolate",
                             "identity"})
      r.add(name, feature);
    r.add("add", {.inputs = {"input", "other"}, .joins = true});
    r.add("matmul", {.inputs = {"input", "other"}, .joins = true});
    r.add("bmm", {.inputs = {"input", "mat2"}, .joins = true});
    return r;
  }();
  return registry;
}

bool run_as_one(const std::string& first, const std::string& second) {
  // What the ancestor knows of convolutions of images is true of all convolutions.
  static const std::set<std::string> activations = {"relu", "relu6",    "sigmoid",     "leaky_relu",
                                                    "mish", "silu",     "hardsigmoid", "prelu",
                                                    "elu",  "hardswish"};
  static const std::set<std::string> convolutions = {
      "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
  if (convolutions.contains(first) || first == "batch_norm") return activations.contains(second);
  if (first == "linear") return activations.contains(second) || second == "gelu";
  return first == "add" && (second == "relu" || second == "relu6");
}

}  // namespace sparsebit::quant
