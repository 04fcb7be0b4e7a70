#pragma once

#include "sparsebit/core/yaml.h"
#include "sparsebit/passes/pass.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/spec/tensor_config.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// The names of a layer that a pattern may match: `layer1.0.conv1` and `layer1_0_conv1`.
struct LayerNames {
  std::string path;
  std::string name;
  std::string source_name = {};  ///< in the model file
};

/// One entry of `SPECIFIC`: settings of the layers that a shell pattern matches.
struct SpecificRule {
  std::string pattern;
  std::vector<std::pair<std::string, Yaml>> settings;  ///< `QUANTIZER.BIT` -> 4
  std::string where;                                   ///< position in the file, for messages
};

/// `SPECIFIC`: elements apply in order; of each element only the first matching rule applies.
using Specific = std::vector<std::vector<SpecificRule>>;

/// `SCHEDULE`
struct QuantSchedule {
  bool fuse_bn = false;
  bool bn_tuning = false;  ///< batch norms are kept for batchnorm_tuning()
  bool disable_unnecessary_quant = true;
  /// Biases get a correction of the mean error of their layer, from the calibration samples.
  bool bias_correction = false;
  /// Operators stay float where integers would be slower, by the platform's costs and the recorded
  /// shapes.
  bool float_where_faster = false;
  std::map<std::string, bool> passes = {};      ///< switches of other passes, by name
  std::vector<std::string> passes_before = {};  ///< run before all others, by name
  std::vector<passes::Pass> extra = {};  ///< user-defined passes, each run at the end of its stage
};

/// Additions to, and exclusions from, the operators that the platform quantizes. Operators are
/// named by any of their spellings: "cat", "torch.cat", "torch.nn.Sigmoid".
struct OperatorSelection {
  std::vector<std::string> additional_operators = {};
  std::vector<std::string> additional_nodes = {};  ///< take precedence over exclusions
  std::vector<std::string> excluded_operators = {};
  std::vector<std::string> excluded_modules = {};  ///< shell patterns for dotted paths
  std::vector<std::string> excluded_nodes = {};
  std::vector<std::string> excluded_layers = {};  ///< shell patterns for paths or node names
};

/// The quantization config of a user, read from YAML and checked.
struct QConfig {
  platforms::PlatformPtr platform = platforms::find_platform("virtual");  ///< `BACKEND`
  std::string device = "cpu";
  std::vector<std::string> skip_trace_modules = {};
  QuantSchedule schedule = {};
  OperatorSelection selection = {};  ///< of prepare_by_platform()
  TensorConfig weight = {};
  TensorConfig activation = {};
  bool quantize_add = false;  ///< `A.QADD.ENABLE_QUANT`
  Specific weight_specific = {};
  Specific activation_specific = {};

  /// Sets a key of `W` or `A`: set(Target::Weight, "QUANTIZER.BIT", "4"). Throws InvalidArgument,
  /// suggesting similar keys. check_qconfig() checks that all settings are compatible.
  void set(Target target, const std::string& key, const std::string& value);

  /// The settings of one layer. Throws InvalidArgument, naming the layer and the rule, if they are
  /// not compatible. The rules that applied are added to `used`.
  TensorConfig of_layer(Target target, const LayerNames& layer,
                        std::vector<const SpecificRule*>* used = nullptr) const;
};

/// Reads a config. Throws InvalidArgument, naming file, line, key and the expected value, for keys
/// and values that are unknown, of the wrong type, missing or contradictory.
/// @param platform  the platform that BACKEND names, if it is not registered; null: look it up.
QConfig parse_qconfig(const std::filesystem::path& file, platforms::PlatformPtr platform = nullptr);
QConfig parse_qconfig(const Yaml& document, platforms::PlatformPtr platform = nullptr);

/// Throws InvalidArgument if settings contradict each other or the platform does not support them.
void check_qconfig(const QConfig& config);

/// The platform's default config.
QConfig default_qconfig(const platforms::PlatformPtr& platform);
/// The same by name ("onnxruntime", "tensorrt"), or from a YAML file that describes the platform;
/// what `sparsebit config --platform NAME` prints. Throws InvalidArgument for unknown names.
QConfig default_qconfig(const std::string& platform);

}  // namespace sparsebit::quant
