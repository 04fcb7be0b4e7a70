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

/// The names a pattern may match: `layer1.0.conv1` and `layer1_0_conv1`.
struct LayerNames {
  std::string path;
  std::string name;
  std::string source_name = {};  ///< in the model's file
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
  /// What the platform would compute more slowly with integers stays float, as far as its costs and
  /// the recorded shapes tell.
  bool float_where_faster = false;
  std::map<std::string, bool> passes = {};      ///< other passes by name, switched on or off
  std::vector<std::string> passes_before = {};  ///< run before all others, by name
  std::vector<passes::Pass> extra = {};  ///< passes of the user's own, each at the end of its stage
};

/// Operators that are added to, or left out of, those that the platform quantizes. Operators are
/// named by any of their spellings: "cat", "torch.cat", "torch.nn.Sigmoid".
struct OperatorSelection {
  std::vector<std::string> additional_operators = {};
  std::vector<std::string> additional_nodes = {};  ///< these win over what is excluded
  std::vector<std::string> excluded_operators = {};
  std::vector<std::string> excluded_modules = {};  ///< shell patterns on whole dotted paths
  std::vector<std::string> excluded_nodes = {};
  std::vector<std::string> excluded_layers = {};  ///< shell patterns on paths, or on node names
};

/// What a quantized model is to be: the YAML file of a user, read and checked.
struct QConfig {
  platforms::PlatformPtr platform = platforms::find_platform("virtual");  ///< `BACKEND`
  std::string device = "cpu";
  std::vector<std::string> skip_trace_modules = {};
  QuantSchedule schedule = {};
  OperatorSelection selection = {};  ///< of prepare_by_platform()
  TensorConfig weight = {};
  TensorConfig feature = {};
  bool quantize_add = false;  ///< `A.QADD.ENABLE_QUANT`
  Specific weight_specific = {};
  Specific feature_specific = {};

  /// Sets a key of `W` or `A`: set(Target::Weight, "QUANTIZER.BIT", "4"). Throws InvalidArgument
  /// with near keys; check_qconfig() tells whether all settings go together.
  void set(Target target, const std::string& key, const std::string& value);

  /// Settings of one layer, checked together. Throws InvalidArgument, naming the layer and the
  /// rule, when they do not go together. The rules that applied are added to `used`.
  TensorConfig of_layer(Target target, const LayerNames& layer,
                        std::vector<const SpecificRule*>* used = nullptr) const;
};

/// Reads a config. Throws InvalidArgument, naming file, line and key and what would be right, for
/// what is unknown, of another type, missing or contradictory.
/// @param platform  what BACKEND names, if it is none of the registered ones; null: look it up.
QConfig parse_qconfig(const std::filesystem::path& file, platforms::PlatformPtr platform = nullptr);
QConfig parse_qconfig(const Yaml& document, platforms::PlatformPtr platform = nullptr);

/// Throws InvalidArgument when settings do not go together, or not with the platform.
void check_qconfig(const QConfig& config);

/// What a platform's own config says.
QConfig default_qconfig(const platforms::PlatformPtr& platform);
/// The same by name ("onnxruntime", "tensorrt"), or from a YAML file that describes the platform;
/// what `sparsebit config --platform NAME` prints. Throws InvalidArgument for unknown names.
QConfig default_qconfig(const std::string& platform);

}  // namespace sparsebit::quant
