#include "quant/calibration/scale_fits.h"

#include "quant/calibration/onnxruntime_scales.h"

#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// The calibrated quantizer that gives this argument; null when it has none.
const Quantizer* quantizer_at(const fx::Value& argument, const fx::GraphModule& module) {
  if (!argument.is_node() || argument.node().op() != fx::Opcode::CallModule) return nullptr;
  const auto* found = dynamic_cast<const Quantizer*>(module.find(argument.node().target()));
  return found && found->is_calibrated() && !found->is_off_for_good() ? found : nullptr;
}

}  // namespace

Registry<ScaleFit>& scale_fits() {
  static Registry<ScaleFit> registry = [] {
    Registry<ScaleFit> r("scale fit");
    r.add("onnxruntime", fit_scales_to_onnxruntime);
    return r;
  }();
  return registry;
}

void set_bias_scales(fx::GraphModule& module, const std::vector<QuantPoint>& points) {
  const at::NoGradGuard no_gradients;
  for (const QuantPoint& point : points) {
    if (!point.is_bias()) continue;
    const fx::Node* layer = module.graph().find(point.consumers.front());
    const fx::OperatorCall call = *fx::resolve(*layer, module);
    const Quantizer* input = quantizer_at(call.args.values().front(), module);
    const Quantizer* weight = quantizer_at(call.args[call.op->weight->argument], module);
    if (!input || !weight) continue;  // one of them is not calibrated yet
    const at::Tensor scale = input->final_qparams().scale * weight->final_qparams().scale;
    point.quantizer->set_qparams({scale, at::zeros_like(scale)});
  }
}

}  // namespace sparsebit::quant
