#pragma once

#include "sparsebit/quant/spec/quant_spec.h"

#include <optional>
#include <string>

// How tensors of one kind are quantized, as a config file says it.

namespace sparsebit::quant {

/// Where the channels of a feature map are.
enum class Layout {
  Nchw,  ///< axis 1
  Nlc,   ///< axis 2, or the last one of tensors that have fewer
};

/// What values look like, for the observer `aciq`.
enum class Distribution { Gauss, Laplace };

/// `OBSERVER`
struct ObserverConfig {
  std::string type = "minmax";
  double percentile_alpha = 0.001;  ///< share of each tail that is cut off
  double ema_ratio = 0.9;           ///< weight of the old value in averages of batches
  Distribution distribution = Distribution::Gauss;
  Layout layout = Layout::Nchw;
  double quantile = 0.99999;     ///< share of the magnitudes that `ema_quantile` keeps
  int64_t quantile_bins = 2048;  ///< of its histogram
  double std_scale = 2.6;        ///< standard deviations that `clip_std` keeps
  bool std_widens = false;       ///< `clip_std` takes the wider bounds, as the ancestor does
  double error_exponent = 2;     ///< of the errors that `batch_mse` and `ema_mse` compare
  bool network_input = false;    ///< the feature is an input of the network, for powers of two

  bool operator==(const ObserverConfig&) const = default;
};

/// `QUANTIZER`
struct QuantizerConfig {
  std::string type = "uniform";
  bool disable = false;
  int64_t bits = 0;              ///< 0: not told
  int64_t group_size = 0;        ///< weights: inputs that share a scale; 0 = all of a channel
  bool restricted = false;       ///< symmetric integers without the lowest one
  int64_t scale_bits = 0;        ///< significant bits of scales; 0 = all of a float
  bool avx2_safe = false;        ///< weights: sums of two products fit 16 bits, see docs
  double pact_alpha = 10.0;      ///< where `pact` cuts at first
  bool lsq_grad_scaling = true;  ///< `lsq`, `lsq+`: gradients / sqrt(N * qmax)
  double dsq_alpha = 0.4;        ///< how soft the steps of `dsq` are
  bool pot_scale = false;        ///< scales are powers of two
  std::optional<IntegerRange> range = {};  ///< of the integers in use; nothing: all of `bits`

  bool operator==(const QuantizerConfig&) const = default;
};

/// `W` or `A`: how weights or features of a layer are quantized.
struct TensorConfig {
  std::optional<QuantScheme> scheme = {};  ///< nothing: not told
  QuantizerConfig quantizer = {};
  ObserverConfig observer = {};

  bool operator==(const TensorConfig&) const = default;
};

}  // namespace sparsebit::quant
