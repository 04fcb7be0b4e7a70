#pragma once

#include "sparsebit/quant/spec/quant_spec.h"

#include <optional>
#include <string>

// The settings of a config file for weights or activations.

namespace sparsebit::quant {

/// The channel axis of an activation.
enum class Layout {
  Nchw,  ///< axis 1
  Nlc,   ///< axis 2, or the last axis of tensors with fewer axes
};

/// The distribution that the observer `aciq` assumes.
enum class Distribution { Gauss, Laplace };

/// `OBSERVER`
struct ObserverConfig {
  std::string type = "minmax";
  double percentile_alpha = 0.001;  ///< share of each tail that is clipped
  double ema_ratio = 0.9;           ///< weight of the old value in exponential moving averages
  Distribution distribution = Distribution::Gauss;
  Layout layout = Layout::Nchw;
  double quantile = 0.99999;     ///< share of the magnitudes that `ema_quantile` keeps
  int64_t quantile_bins = 2048;  ///< of its histogram
  double std_scale = 2.6;        ///< number of standard deviations that `clip_std` keeps
  bool std_widens = false;       ///< `clip_std` takes the wider bounds, as in MQBench
  double error_exponent = 2;     ///< of the errors that `batch_mse` and `ema_mse` compare
  bool network_input = false;    ///< an input of the network, see DpuObserver

  bool operator==(const ObserverConfig&) const = default;
};

/// `QUANTIZER`
struct QuantizerConfig {
  std::string type = "uniform";
  bool disable = false;
  int64_t bits = 0;              ///< 0: not set
  int64_t group_size = 0;        ///< weights: inputs that share a scale; 0: a whole channel
  bool restricted = false;       ///< symmetric integers without the lowest one
  int64_t scale_bits = 0;        ///< significant bits of scales; 0: all
  bool avx2_safe = false;        ///< weights: sums of two products fit 16 bits, see docs
  double pact_alpha = 10.0;      ///< initial clipping limit of `pact`
  bool lsq_grad_scaling = true;  ///< `lsq`, `lsq+`: scale gradients by 1 / sqrt(N * qmax)
  double dsq_alpha = 0.4;        ///< softness of the rounding steps of `dsq`
  bool pot_scale = false;        ///< scales are powers of two
  std::optional<IntegerRange> range = {};  ///< of the integers in use; nullopt: all of `bits`

  bool operator==(const QuantizerConfig&) const = default;
};

/// `W` or `A`: how the weights or activations of a layer are quantized.
struct TensorConfig {
  std::optional<QuantScheme> scheme = {};  ///< nullopt: not set
  QuantizerConfig quantizer = {};
  ObserverConfig observer = {};

  bool operator==(const TensorConfig&) const = default;
};

}  // namespace sparsebit::quant
