#pragma once

#include <cstdint>
#include <functional>

namespace sparsebit::quant {

/// Options of prepare_calibration().
struct PrepareOptions {
  /// Run the model on whole batches. Otherwise the first axis of all inputs is the batch axis, and
  /// the model runs on single samples, so that results do not depend on the batch size.
  bool whole_batches = false;
  /// Keep the samples, which calc_qparams() needs with `quantized_ranges`. They are also kept if
  /// anything is learned from them.
  bool keep_samples = false;
  /// The quantizers that are calibrated; the others keep their scales.
  bool weights = true;
  bool activations = true;
  /// Limit of the memory for kept samples, at most a quarter of memory_limit(); the rest is stored in
  /// a file in TMPDIR.
  int64_t bytes_in_memory = int64_t{256} << 20;
};

/// Options of calc_qparams().
struct CalcOptions {
  /// Layers are calibrated in order, on the outputs of the quantized layers before them ...
  bool asym = false;
  bool w_quant = false;  ///< ... with quantized weights
  bool a_quant = false;  ///< ... with quantized activations
  /// With `asym`: the ranges of activations are also found on the quantized model. Otherwise they
  /// are those of the float model, and `asym` only affects what is learned from a layer's inputs:
  /// rounding and the corrections of biases.
  bool quantized_ranges = false;
  /// Called after each of `total` nodes of the graph if they are visited one by one.
  std::function<void(int64_t total)> on_node = {};
};

}  // namespace sparsebit::quant
