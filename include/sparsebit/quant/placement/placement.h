#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/config/qconfig.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// An activation that an operator reads as integers.
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

/// Which values of a model carry a quantizer. Plain data: nothing has changed yet.
struct Placement {
  std::vector<FeaturePoint> features = {};
  std::vector<WeightPoint> weights = {};
  std::vector<Decision> floats = {};  ///< about nodes that stay float, or of which an input does
  std::vector<std::string> unused_patterns = {};  ///< of the config: they match nothing
};

/// As the config's platform wants it. Shapes and types that are recorded in the graph keep integers
/// away.
Placement place(fx::GraphModule& module, const QConfig& config);

/// PlacementPolicy::Kind::OperatorInputs: quantizers at the inputs, and if the policy says so the
/// outputs, of the operators in the platform's table.
Placement place_at_operators(fx::GraphModule& module, const QConfig& config);

/// PlacementPolicy::Kind::IntegerRegions: each operator that the platform can compute with integers
/// has integers on all sides. Layers and products are the reason for all others: these are integers
/// only between them.
Placement place_in_regions(fx::GraphModule& module, const QConfig& config);

}  // namespace sparsebit::quant
