#include "quant/calibration/scale_fits.h"

#include "quant/calibration/onnxruntime_scales.h"
#include "sparsebit/quant/quantizers/bias.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/regions/integer_regions.h"

#include <ATen/ATen.h>

#include <unordered_map>

namespace sparsebit::quant {
Registry<ScaleFit>& scale_fits() {
  static Registry<ScaleFit> registry = [] {
    Registry<ScaleFit> r("scale fit");
    r.add("onnxruntime", fit_scales_to_onnxruntime);
    return r;
  }();
  return registry;
}

void set_bias_scales(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                     const platforms::Platform& platform) {
  const at::NoGradGuard no_gradients;
  const IntegerRegions regions(module, platform);
  std::unordered_map<const Quantizer*, QuantizerPtr> owners;
  for (const QuantPoint& point : points) owners.emplace(point.quantizer.get(), point.quantizer);
  const auto quantizer_of = [&](const fx::Value& argument) -> QuantizerPtr {
    if (!argument.is_node()) return nullptr;
    const auto found = owners.find(regions.quantizer_behind(argument.node()));
    return found == owners.end() ? nullptr : found->second;
  };
  for (const QuantPoint& point : points) {
    if (!point.is_bias() || point.quantizer->is_off_for_good()) continue;
    const fx::Node* layer = module.graph().find(point.consumers.front());
    const auto call = layer ? fx::resolve(*layer, module) : std::nullopt;
    SPARSEBIT_CHECK(call && call->op->weight, InvalidModel, "the bias '", point.value,
                    "' does not belong to a layer");
    const QuantizerPtr input = quantizer_of(call->args.values().front());
    const QuantizerPtr weight = quantizer_of(call->args[call->op->weight->argument]);
    auto& bias = dynamic_cast<Bias&>(*point.quantizer);
    const bool stays_float = platform.bias == platforms::BiasRule::Float;
    if (!weight || (!input && !stays_float)) {
      point.quantizer->switch_off({DecisionKind::LayerIsFloat, point.value, layer->name()});
    } else if (stays_float) {
      bias.keep_float();
    } else if (input->is_calibrated() && weight->is_calibrated()) {
      bias.follow(input, weight);
    }
  }
}

}  // namespace sparsebit::quant
