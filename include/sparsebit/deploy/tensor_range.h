#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace sparsebit::deploy {

enum class TensorKind { Activation, Weight, Bias };

/// "activation", "weight", "bias"
std::string to_string(TensorKind kind);

/// How a tensor of the clean ONNX file is quantized: x is about (q - zero_point) * scale.
struct TensorRange {
  std::string tensor;  ///< its name in the file
  TensorKind kind = TensorKind::Activation;
  /// Name of the ONNX node that produces an activation or consumes a weight; empty for the model's
  /// inputs.
  std::string layer = {};
  at::Tensor scale;            ///< float32: [] per tensor, [channels], or [channels, groups]
  at::Tensor zero_point;       ///< float32, same shape
  int64_t qmin = 0, qmax = 0;  ///< smallest and largest integer, inclusive
  int bits = 8;
  int64_t channel_axis = 0;  ///< in the file
  bool uniform = true;       ///< false: non-uniform steps, only the range is meaningful
  bool inherited = false;    ///< copied from the output of a consuming Flatten, Reshape or Resize

  bool is_per_channel() const { return scale.dim() > 0; }
  /// Whether the integers are signed and all zero points are 0.
  bool is_symmetric() const;
  /// The dequantized qmin and qmax, float64, one per scale.
  at::Tensor low() const;
  at::Tensor high() const;
  /// The larger magnitude of low() and high().
  at::Tensor largest() const;

  /// Whether both describe the same tensor with the same range, scale and zero point.
  bool same_numbers(const TensorRange& other) const;
};

}  // namespace sparsebit::deploy
