#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/config/qconfig.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// An activation that an operator reads through a quantizer.
struct ActivationPoint {
  fx::Node* value;
  fx::Node* consumer;
  TensorConfig config;  ///< the settings for the consumer's names
  /// The value whose quantizer, and hence scale, it shares; null if it has its own.
  fx::Node* shares = nullptr;
  /// Whether it is observed for calibration. Copies of observed values are not.
  bool observed = true;
};

/// A weight or bias that an operator reads through a quantizer.
struct WeightPoint {
  fx::Node* layer;
  std::string argument;  ///< "weight"
  int64_t channel_axis;
  TensorConfig config;
  Target target = Target::Weight;  ///< or Bias
};

/// The values of a model that get a quantizer. Plain data: the graph is not changed yet.
struct Placement {
  std::vector<ActivationPoint> activations = {};
  std::vector<WeightPoint> weights = {};
  std::vector<Decision> floats = {};  ///< why nodes or their inputs stay float
  std::vector<std::string> unused_patterns =
      {};  ///< messages about patterns of the config without a match
};

/// Placement by the policy of the config's platform. Values whose recorded type is not floating
/// point get no quantizer.
Placement place(fx::GraphModule& module, const QConfig& config);

/// PlacementPolicy::Kind::OperatorInputs: quantizers at the inputs, and depending on the policy the
/// outputs, of the operators in the platform's table.
Placement place_at_operators(fx::GraphModule& module, const QConfig& config);

/// PlacementPolicy::Kind::IntegerRegions: the inputs and outputs of each operator that the platform
/// can compute with integers are quantized. Operators other than layers and matrix products are
/// only quantized if they are connected to these.
Placement place_in_regions(fx::GraphModule& module, const QConfig& config);

}  // namespace sparsebit::quant
