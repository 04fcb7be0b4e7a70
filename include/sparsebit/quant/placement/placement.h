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
};

/// A weight that an operator reads as integers.
struct WeightPoint {
  fx::Node* layer;
  std::string argument;  ///< "weight"
  int64_t channel_axis;
  TensorConfig config;
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

/// As the ancestor does it: the inputs of every operator that can be quantized, except where two
/// operators run as one. Shapes and types that are recorded in the graph keep integers away.
Placement place_virtual(fx::GraphModule& module, const QConfig& config);

}  // namespace sparsebit::quant
