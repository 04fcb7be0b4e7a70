#pragma once

#include "sparsebit/fx/tracer.h"
#include "sparsebit/passes/pass.h"
#include "sparsebit/quant/quant_model.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// A key of a qconfig and its value: {"OBSERVER.TYPE", "mse"}.
struct Setting {
  std::string key;
  std::string value;
  std::string where = {};  ///< "custom.yaml:3", for messages
};

/// What a user changes of what a platform does by itself. The names in brackets are those of
/// MQBench's prepare_custom_config_dict, which parse_custom_config() reads.
struct CustomConfig {
  /// Of weights and activations [extra_qconfig_dict].
  std::vector<Setting> weights = {};
  std::vector<Setting> activations = {};
  /// Operators, modules and nodes that are quantized although the platform's table does not have
  /// them, and those that stay float [extra_quantizer_dict].
  quant::OperatorSelection selection = {};
  /// Batch norms are not folded, concatenations are points of their own, and only relu counts as
  /// never negative: for research with a platform that folds [academic_mode].
  bool academic_mode = false;
  /// Passes that run before quantizers are placed, by name, see passes::passes()
  /// [extra_fuse_dict.additional_fusion_pattern].
  std::vector<std::string> extra_passes = {};
  /// Passes written by the user, each at the end of its stage. For C++ only.
  std::vector<passes::Pass> fusions = {};
  /// Modules of a type are replaced by what the function makes of them, once where they are shared
  /// [extra_fuse_dict.additional_qat_module_mapping]. For C++ only.
  std::map<std::string, std::function<fx::ModulePtr(const fx::Module&)>> module_mapping = {};
  /// Attributes to carry over, and inputs that are fixed [preserve_attr, concrete_args].
  fx::TraceOptions trace = {};
  std::vector<std::string> leaf_modules = {};  ///< module types that stay one step [leaf_module]
};

/// Reads MQBench's prepare_custom_config_dict from YAML or JSON, with its names of observers
/// (EMAMinMaxObserver) and fake quantizers (LearnableFakeQuantize), or ours. Throws
/// InvalidArgument, naming file, line and key.
CustomConfig parse_custom_config(const Yaml& document);

/// A config with the settings, the selection and the mode that `custom` asks for. Throws
/// InvalidArgument when they do not go together, or not with the platform.
quant::QConfig customized(quant::QConfig config, const CustomConfig& custom);

/// A model with quantizers where the platform wants them: its own settings, changed by `custom`.
/// A module that is called twice keeps one weight with one quantizer.
/// @param platform  a name of platforms::platforms(), or a YAML file.
/// @param example   inputs from which shapes and types are recorded.
quant::QuantModel prepare_by_platform(fx::Module& model, const std::string& platform,
                                      const CustomConfig& custom = {},
                                      const std::vector<fx::Value>& example = {});

}  // namespace sparsebit::deploy
