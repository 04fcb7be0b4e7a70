#include "quant/calibration/scale_fits.h"

#include "quant/calibration/onnxruntime_scales.h"

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/regions/integer_regions.h"

#include <ATen/ATen.h>

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
  const auto quantizer_of = [&](const fx::Value& argument) {
    return argument.is_node() ? regions.quantizer_behind(argument.node()) : nullptr;
  };
  for (const QuantPoint& point : points) {
    if (!point.is_bias()) continue;
    const fx::Node* layer = module.graph().find(point.consumers.front());
    const fx::OperatorCall call = *fx::resolve(*layer, module);
    const Quantizer* input = quantizer_of(call.args.values().front());
    const Quantizer* weight = quantizer_of(call.args[call.op->weight->argument]);
    if (!input || !weight) {
      point.quantizer->switch_off({DecisionKind::LayerIsFloat, point.value, layer->name()});
    } else if (input->is_calibrated() && weight->is_calibrated()) {
      const at::Tensor scale = input->final_qparams().scale * weight->final_qparams().scale;
      point.quantizer->set_qparams({scale, at::zeros_like(scale)});
    }
  }
}

}  // namespace sparsebit::quant
