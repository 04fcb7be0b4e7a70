#pragma once

#include <cstdint>
#include <functional>

namespace sparsebit::quant {

/// How prepare_calibration() prepares.
struct PrepareOptions {
  /// Show the model each batch as it is. Otherwise the first axis of all inputs is taken for the
  /// batch, and samples are shown one by one, which makes results the same for all batch sizes.
  bool whole_batches = false;
  /// Keep the samples themselves, which calc_qparams() with `quantized_ranges` needs.
  bool keep_samples = false;
  /// Only these are calibrated; the others keep their scales, if they have any.
  bool weights = true;
  bool features = true;
  /// Of what is kept, as much stays in memory; the rest goes to a file in TMPDIR.
  int64_t bytes_in_memory = int64_t{256} << 20;
};

/// How calc_qparams() goes through the layers.
struct CalcOptions {
  /// A layer's calibration sees what quantized layers before it give ...
  bool asym = false;
  bool w_quant = false;  ///< ... with quantized weights
  bool a_quant = false;  ///< ... with quantized features
  /// With `asym`: ranges of features come from there, too. Otherwise they are those of the float
  /// model, and `asym` matters only to methods that learn a layer's rounding from its inputs.
  bool quantized_ranges = false;
  /// Called after each node of the graph, of `total`, when ranges are found in sequence.
  std::function<void(int64_t total)> on_node = {};
};

}  // namespace sparsebit::quant
