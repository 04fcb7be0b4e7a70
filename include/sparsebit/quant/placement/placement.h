#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/spec/qconfig.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// A feature that an operator reads as integers.
struct FeaturePoint {
  fx::Node* value;
  fx::Node* consumer;
  TensorConfig config;  ///< as the consumer's names say
  /// The value whose quantizer it shares, so that both have one scale; null when it has its own.
  fx::Node* shares = nullptr;
  /// Whether its numbers count for the scale. Copies of numbers that count already do not.
  bool observed = true;
};

/// A weight, or a bias, that an operator reads as integers.
struct WeightPoint {
  fx::Node* layer;
  std::string argument;  ///< "weight"
  int64_t channel_axis;
  TensorConfig config;
  Target target = Target::Weight;  ///< or Bias
};

/// What was decided about a node that stays float, or of which an input does.
struct FloatDecision {
  std::string node;
  std::string reason;
};

/// Which values of a model carry a quantizer. Plain data: nothing has changed yet.
struct Placement {
  std::vector<FeaturePoint> features = {};
  std::vector<WeightPoint> weights = {};
  std::vector<FloatDecision> floats = {};
  std::vector<std::string> unused_patterns = {};  ///< of the config: they match nothing
};

/// As the config's backend wants it. Shapes and types that are recorded in the graph keep integers
/// away.
Placement place(fx::GraphModule& module, const QConfig& config);

/// As the ancestor does it: the inputs of every operator that can be quantized, except where two
/// operators run as one.
Placement place_virtual(fx::GraphModule& module, const QConfig& config);

/// For ONNX Runtime: each operator that it can compute with integers has integers on all sides, see
/// runtime_rules.h. Sums and products are the reason for all others: these are integers only
/// between them.
Placement place_for_onnxruntime(fx::GraphModule& module, const QConfig& config);

/// For TensorRT: the inputs and weights of layers and products, and one branch of a residual sum.
Placement place_for_tensorrt(fx::GraphModule& module, const QConfig& config);

}  // namespace sparsebit::quant
