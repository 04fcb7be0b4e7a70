#pragma once

#include "sparsebit/core/yaml.h"
#include "sparsebit/quant/spec/quant_spec.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// What the quantized model is for: which points are quantized, and which settings are allowed.
enum class Backend { Virtual, OnnxRuntime, TensorRt };

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
  double ema_ratio = 0.9;           ///< weight of the old value in `moving_average`
  Distribution distribution = Distribution::Gauss;
  Layout layout = Layout::Nchw;

  bool operator==(const ObserverConfig&) const = default;
};

/// `QUANTIZER`
struct QuantizerConfig {
  std::string type = "uniform";
  bool disable = false;
  int64_t bits = 0;          ///< 0: not told
  int64_t group_size = 0;    ///< weights: inputs that share a scale; 0 = all of a channel
  bool restricted = false;   ///< symmetric integers without the lowest one
  int64_t scale_bits = 0;    ///< significant bits of scales; 0 = all of a float
  bool avx2_safe = false;    ///< weights: sums of two products fit 16 bits, see docs
  double pact_alpha = 10.0;  ///< where `pact` cuts at first

  bool operator==(const QuantizerConfig&) const = default;
};

/// `W` or `A`: how weights or features of a layer are quantized.
struct TensorConfig {
  std::optional<QuantScheme> scheme = {};  ///< nothing: not told
  QuantizerConfig quantizer = {};
  ObserverConfig observer = {};

  bool operator==(const TensorConfig&) const = default;
};

/// The names a pattern may match: `layer1.0.conv1` and `layer1_0_conv1`.
struct LayerNames {
  std::string path;
  std::string name;
};

/// One line of `SPECIFIC`: settings of the layers that a shell pattern matches.
struct SpecificRule {
  std::string pattern;
  std::vector<std::pair<std::string, Yaml>> settings;  ///< `QUANTIZER.BIT` -> 4
  std::string where;                                   ///< in the file, for messages
};

/// `SPECIFIC`: of each element the first rule that matches applies, elements one after the other.
using Specific = std::vector<std::vector<SpecificRule>>;

/// `SCHEDULE`
struct QuantSchedule {
  bool fuse_bn = false;
  bool bn_tuning = false;  ///< batch norms stay until batchnorm_tuning() is over
  bool disable_unnecessary_quant = true;
  std::map<std::string, bool> passes = {};  ///< other passes by name, switched on or off
};

/// What a quantized model is to be: the YAML file of a user, read and checked.
struct QConfig {
  Backend backend = Backend::Virtual;
  std::string device = "cpu";
  std::vector<std::string> skip_trace_modules = {};
  QuantSchedule schedule = {};
  TensorConfig weight = {};
  TensorConfig feature = {};
  bool quantize_add = false;  ///< `A.QADD.ENABLE_QUANT`
  Specific weight_specific = {};
  Specific feature_specific = {};

  /// Settings of one layer, checked together. Throws InvalidArgument, naming the layer and the
  /// rule, when they do not go together. The rules that applied are added to `used`.
  TensorConfig of_layer(Target target, const LayerNames& layer,
                        std::vector<const SpecificRule*>* used = nullptr) const;
};

/// Reads a config. Throws InvalidArgument, naming file, line and key and what would be right, for
/// what is unknown, of another type, missing or contradictory.
QConfig parse_qconfig(const std::filesystem::path& file);
QConfig parse_qconfig(const Yaml& document);

std::string_view to_string(Backend backend);
/// Throws InvalidArgument with the names there are.
Backend backend_from_text(const std::string& name);

}  // namespace sparsebit::quant
