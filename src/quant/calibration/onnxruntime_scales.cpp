#include "quant/calibration/onnxruntime_scales.h"

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/regions/clipping.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sparsebit::quant {
namespace {

using fx::Node;

constexpr double kMostOfBias = 2147483647. - 256;  // minus the float32 resolution near 2^31

/// One row per output channel, in the order in which ONNX Runtime sums: input channels last.
at::Tensor rows_of(const at::Tensor& weight) {
  return weight.dim() > 2 ? weight.flatten(2).transpose(1, 2).flatten(1) : weight;
}

/// The least scale of each channel with which u8 * w1 + u8 * w2 of two neighbouring weights fits 16
/// bits: |w1| + |w2| <= 128, of which rounding takes up to one half for each weight.
at::Tensor least_scale_of_pairs(const at::Tensor& weight) {
  constexpr double kMostOfPair = 127;
  at::Tensor rows = rows_of(weight);
  if (rows.size(1) % 2 != 0) rows = at::constant_pad_nd(rows, {0, 1});
  const at::Tensor first = rows.slice(1, 0, rows.size(1), 2),
                   second = rows.slice(1, 1, rows.size(1), 2);
  const at::Tensor add_up = (first * second).gt(0);  // products of opposite signs cancel
  return ((first.abs() + second.abs()) * add_up).amax(1) / kMostOfPair;
}

class ScaleFitting {
 public:
  ScaleFitting(fx::GraphModule& module, const std::vector<QuantPoint>& points) : module_(module) {
    for (const Node& node : module.graph().nodes()) nodes_[node.name()] = &node;
    for (const QuantPoint& point : points) {
      if (point.is_activation() && point.observed) values_[point.quantizer.get()].push_back(&point);
    }
  }

  void fit(const QuantPoint& point) const {
    const at::Tensor* weight = module_.find_tensor(point.value);
    const QParams found = point.quantizer->final_qparams();
    at::Tensor scale = found.scale;
    for (const std::string& consumer : point.consumers) {
      const Node& layer = *nodes_.at(consumer);
      const fx::OperatorCall call = *fx::resolve(layer, module_);
      if (point.quantizer->config().quantizer.avx2_safe && sums_products(call, *weight))
        scale = wider(scale, least_scale_of_pairs(weight->detach()));
      scale = wider(scale, least_scale_of_bias(call));
    }
    const QuantSpec& spec = point.quantizer->spec();
    scale = rounded_up(scale, spec.pot_scale ? 1 : spec.scale_bits);
    if (!at::equal(scale, found.scale)) point.quantizer->set_qparams({scale, found.zero_point});
  }

  /// A relu6 can only be omitted if the quantizer after it clips at the same bound, which rounding
  /// the scale to a few bits may have changed.
  void fit_to_clipping(const QuantPoint& point) const {
    const auto bounds = common_bounds(*point.quantizer);
    const QuantSpec& spec = point.quantizer->spec();
    const QParams found = point.quantizer->final_qparams();
    if (!bounds || found.scale.dim() > 0 || rounding_clips(*bounds, *point.quantizer)) return;
    const double scale = found.scale.item<double>(), zero = found.zero_point.item<double>();
    const double low = std::max(bounds->low, (static_cast<double>(spec.qmin()) - zero) * scale);
    const double high = std::min(bounds->high, (static_cast<double>(spec.qmax()) - zero) * scale);
    if (low > 0 || high <= 0) return;  // the range must contain 0
    const double steps = static_cast<double>(spec.qmax() - spec.qmin()) - 0.5;
    int exponent = 0;
    const double mantissa = std::frexp((high - low) / steps, &exponent);
    const double fits =
        std::ldexp(std::floor(std::ldexp(mantissa, spec.scale_bits)), exponent - spec.scale_bits);
    const double new_zero = static_cast<double>(spec.qmin()) + std::nearbyint(-low / fits);
    point.quantizer->set_qparams(
        {at::full({}, fits, at::kFloat), at::full({}, new_zero, at::kFloat)});
  }

 private:
  /// The clip bounds of all values that share a quantizer; nullopt if they differ.
  std::optional<ClipBounds> common_bounds(const Quantizer& quantizer) const {
    std::optional<ClipBounds> common;
    for (const QuantPoint* point : values_.at(&quantizer)) {
      const auto call = fx::resolve(*nodes_.at(point->value), module_);
      const auto bounds = call ? clip_bounds_of(*call) : std::nullopt;
      if (!bounds || (common && *common != *bounds)) return std::nullopt;
      common = bounds;
    }
    return common;
  }

  /// The quantizer of an argument; null if it has none.
  const Quantizer* quantizer_at(const fx::Value& argument) const {
    return argument.is_node() ? find_quantizer(module_, argument.node()) : nullptr;
  }

  /// False for depthwise layers, which have a separate kernel that sums in 32 bits.
  static bool sums_products(const fx::OperatorCall& call, const at::Tensor& weight) {
    if (call.op->name == "linear" || weight.size(1) > 1) return true;
    const fx::Value& groups = call.args["groups"];
    return groups.is_int() && groups.to_int() == 1;  // one input channel
  }

  static at::Tensor wider(const at::Tensor& scale, const at::Tensor& least) {
    if (!least.defined()) return scale;
    return at::maximum(scale, scale.dim() == 0 ? least.max() : least);
  }

  at::Tensor least_scale_of_bias(const fx::OperatorCall& call) const {
    const fx::Value& bias = call.args["bias"];
    const Quantizer* input = quantizer_at(call.args["input"]);
    if (!quantizer_at(bias) || !input || !input->is_calibrated()) return {};
    const at::Tensor* numbers = module_.find_tensor(bias.node().inputs().front()->target());
    if (!numbers) return {};
    const double most = kMostOfBias * (1 - kMayBeMissing);  // rounding may reduce scales
    return numbers->detach().abs() / (input->final_qparams().scale * most);
  }

  fx::GraphModule& module_;
  std::unordered_map<std::string_view, const Node*> nodes_;
  std::unordered_map<const Quantizer*, std::vector<const QuantPoint*>> values_;  // by quantizer
};

}  // namespace

void fit_scales_to_onnxruntime(fx::GraphModule& module, const std::vector<QuantPoint>& points) {
  const at::NoGradGuard no_gradients;
  const ScaleFitting fitting(module, points);
  for (const QuantPoint& point : points) {
    const QuantSpec& spec = point.quantizer->spec();
    const bool may_clip = point.is_activation() && !spec.is_symmetric() && spec.scale_bits > 0;
    if (may_clip && point.observed && point.quantizer->is_calibrated())
      fitting.fit_to_clipping(point);
    if (point.is_weight() && point.quantizer->is_calibrated()) fitting.fit(point);
  }
}

}  // namespace sparsebit::quant
