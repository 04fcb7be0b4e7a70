#pragma once

#include "sparsebit/quant/quant_model.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// The quantized output that is compared with a layer's float output.
enum class ErrorScope {
  Alone,        ///< only this layer is quantized: its own error
  Accumulated,  ///< all layers are quantized: the error accumulated up to this layer
};

/// The error, or similarity, of a quantized output and the float output.
using ErrorMeasure = std::function<double(const at::Tensor& quantized, const at::Tensor& expected)>;

/// The sum of squares, in double precision.
double energy(const at::Tensor& tensor);
/// energy(a - b); a and b may have different types.
double energy_of_difference(const at::Tensor& a, const at::Tensor& b);
/// 10 * log10(signal / noise). Infinite when there is no noise.
double decibels(double signal, double noise);

double mean_squared_error(const at::Tensor& quantized, const at::Tensor& expected);
/// 10 * log10(signal / noise), in decibels: larger is better. Infinite when there is no noise.
double signal_to_noise(const at::Tensor& quantized, const at::Tensor& expected);
/// Cosine similarity: 1 for the same direction.
double cosine(const at::Tensor& quantized, const at::Tensor& expected);

struct LayerError {
  std::string layer;  ///< node name
  double value;
};

/// Runs data through the model and compares each layer that has a quantized input or weight, in
/// graph order. Restores the enabled quantizers. Throws InvalidArgument if the model is not
/// calibrated.
std::vector<LayerError> quantization_error(QuantModel& model, const std::vector<fx::Value>& inputs,
                                           const ErrorMeasure& measure = mean_squared_error,
                                           ErrorScope scope = ErrorScope::Alone);

}  // namespace sparsebit::quant
