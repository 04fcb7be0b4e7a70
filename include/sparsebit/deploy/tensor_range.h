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
  /// Name of the ONNX node that makes an activation or reads a weight; empty for the model's
  /// inputs.
  std::string layer = {};
  at::Tensor scale;            ///< float32: [] per tensor, [channels], or [channels, groups]
  at::Tensor zero_point;       ///< float32, as many
  int64_t qmin = 0, qmax = 0;  ///< the integers, both inclusive
  int bits = 8;
  int64_t channel_axis = 0;  ///< in the file
  bool uniform = true;       ///< false: only the range is known, steps are not of one size
  bool inherited = false;    ///< from what a Flatten, Reshape or Resize makes of it

  bool is_per_channel() const { return scale.dim() > 0; }
  /// Whether zero is in the middle: signed integers and no zero point.
  bool is_symmetric() const;
  /// What the lowest and the highest integer stand for, float64, as many as there are scales.
  at::Tensor low() const;
  at::Tensor high() const;
  /// The larger magnitude of the two.
  at::Tensor largest() const;

  /// Whether both say the same about the same tensor.
  bool same_numbers(const TensorRange& other) const;
};

}  // namespace sparsebit::deploy
