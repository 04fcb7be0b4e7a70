#pragma once

#include "sparsebit/quant/quant_model.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// What is compared with the float result of a layer.
enum class ErrorScope {
  Alone,        ///< the layer quantized, on float inputs: what it loses by itself
  Accumulated,  ///< everything quantized: what was lost up to here
};

/// How far a quantized result is from the float one.
using ErrorMeasure = std::function<double(const at::Tensor& quantized, const at::Tensor& expected)>;

/// The sum of squares, in double precision.
double energy(const at::Tensor& tensor);
/// Of a - b, whatever types they have.
double energy_of_difference(const at::Tensor& a, const at::Tensor& b);
/// 10 * log10(signal / noise). Infinite when there is no noise.
double decibels(double signal, double noise);

double mean_squared_error(const at::Tensor& quantized, const at::Tensor& expected);
/// 10 * log10(signal / noise), in decibels: larger is better. Infinite when there is no noise.
double signal_to_noise(const at::Tensor& quantized, const at::Tensor& expected);
/// 1 for the same direction.
double cosine(const at::Tensor& quantized, const at::Tensor& expected);

struct LayerError {
  std::string layer;  ///< node
  double value;
};

/// Runs data through the model and compares each layer that reads something quantized, in graph
/// order. The model is left as it was. Throws InvalidArgument when it is not calibrated.
std::vector<LayerError> quantization_error(QuantModel& model, const std::vector<fx::Value>& inputs,
                                           const ErrorMeasure& measure = mean_squared_error,
                                           ErrorScope scope = ErrorScope::Alone);

}  // namespace sparsebit::quant
