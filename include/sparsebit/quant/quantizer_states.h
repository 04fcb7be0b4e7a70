#pragma once

#include "sparsebit/quant/quant_model.h"

// Switches over all quantizers of a model, in the words of MQBench's state helpers.

namespace sparsebit::quant {

/// Which quantizers a helper is about.
enum class QuantizerKind { All, Weights, Activations };

/// Observers of this kind look at what forward() is given from now on; nothing is quantized.
void enable_calibration(QuantModel& model, QuantizerKind kind = QuantizerKind::All);
/// Ends calibration if there is one, and quantizes with this kind; the others are off.
void enable_quantization(QuantModel& model, QuantizerKind kind = QuantizerKind::All);
/// Ends calibration without looking at what it saw, and quantizes nothing.
void disable_all(QuantModel& model);

}  // namespace sparsebit::quant
