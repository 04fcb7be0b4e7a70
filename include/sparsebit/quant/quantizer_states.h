#pragma once

#include "sparsebit/quant/quant_model.h"

// Enable and disable all quantizers of a model, with the names of MQBench's state functions.

namespace sparsebit::quant {

/// The quantizers that a function applies to.
enum class QuantizerKind { All, Weights, Activations };

/// Starts calibration of these quantizers: forward() feeds their observers. Nothing is quantized.
void enable_calibration(QuantModel& model, QuantizerKind kind = QuantizerKind::All);
/// Ends calibration, if it is running, and enables these quantizers; all others are off.
void enable_quantization(QuantModel& model, QuantizerKind kind = QuantizerKind::All);
/// Ends calibration, discards its statistics, and disables all quantizers.
void disable_all(QuantModel& model);

}  // namespace sparsebit::quant
