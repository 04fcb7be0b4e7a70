// Quantizers as OpenVINO's FakeQuantize.

#include "export/exporter.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::exports {
namespace {

constexpr const char* kDomain = "org.openvinotoolkit";

/// The lowest and the highest integer of the grid in the OpenVINO file.
struct Grid {
  int64_t low, high;
  int64_t levels() const { return high - low + 1; }
};

/// OpenVINO supports int8 weights of 256 levels, not of 128. 256 levels over twice the range have
/// the same step, and weights stay within the original half, see with_clipped_weights().
Grid grid_of(const quant::QuantSpec& spec) {
  const Grid own{spec.qmin(), spec.qmax()};
  if (spec.target != quant::Target::Weight || own.levels() != 128) return own;
  return {2 * own.low, 2 * own.high + 1};
}

/// Per-channel or per-group values in a shape that broadcasts against `x`.
at::Tensor shaped(const at::Tensor& per_scale, const OnnxTensor& x, const quant::QuantSpec& spec) {
  if (per_scale.dim() == 0) return per_scale;
  const int64_t axis = std::min(spec.channel_axis, x.rank() - 1);
  std::vector<int64_t> shape(static_cast<size_t>(x.rank()), 1);
  shape[static_cast<size_t>(axis)] = per_scale.size(0);
  if (per_scale.dim() == 1) return per_scale.reshape(shape);
  shape[1] = per_scale.size(1) * spec.group_size;
  return per_scale.repeat_interleave(spec.group_size, 1).reshape(shape);
}

}  // namespace

NodeResult Exporter::write_fake_quantize(const fx::Node& node, const quant::Quantizer& quantizer,
                                         const OnnxTensor& x) {
  const quant::QuantSpec& spec = quantizer.spec();
  if (spec.target == quant::Target::Bias) return x;  // OpenVINO rounds biases itself
  const bool squeezes = spec.target == quant::Target::Activation && quantizer.squeezes_by();
  SPARSEBIT_CHECK(!squeezes, Unsupported,
                  "activations quantized by dorefa cannot be exported as FakeQuantize");
  const quant::QParams found = quantizer.final_qparams();
  const Grid grid = grid_of(spec);
  const auto bound = [&](int64_t q, const char* end) {
    const at::Tensor number = (static_cast<double>(q) - found.zero_point) * found.scale;
    return writer_.constant(shaped(number, x, spec), node.target() + end);
  };
  const OnnxTensor low = bound(grid.low, ".low"), high = bound(grid.high, ".high");
  const OnnxTensor made = writer_.op("FakeQuantize", {x, low, high, low, high},
                                     {{"levels", grid.levels()}}, at::kFloat, x.shape);
  writer_.set_domain(made, kDomain);
  domains_.emplace(kDomain, 1);
  carries_unknown_ = true;  // ONNX's checker does not know the operator
  return made;
}

}  // namespace sparsebit::exports
