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

/// User settings on top of a platform's defaults. The names in brackets are those of MQBench's
/// prepare_custom_config_dict, which parse_custom_config() reads.
struct CustomConfig {
  /// Settings of weights and activations [extra_qconfig_dict].
  std::vector<Setting> weights = {};
  std::vector<Setting> activations = {};
  /// Operators, modules and nodes to quantize although the platform's operator table does not list
  /// them, and those to keep in float [extra_quantizer_dict].
  quant::OperatorSelection selection = {};
  /// Batch norms are not folded, concatenations get their own quantizers, and only relu outputs are
  /// treated as non-negative: for research on platforms that fold [academic_mode].
  bool academic_mode = false;
  /// Passes that run before quantizers are placed, by name, see passes::passes()
  /// [extra_fuse_dict.additional_fusion_pattern].
  std::vector<std::string> extra_passes = {};
  /// The user's own passes, each run at the end of its stage. C++ only.
  std::vector<passes::Pass> fusions = {};
  /// Replaces modules, by type, by the result of the function; a shared module is replaced once
  /// [extra_fuse_dict.additional_qat_module_mapping]. C++ only.
  std::map<std::string, std::function<fx::ModulePtr(const fx::Module&)>> module_mapping = {};
  /// Attributes to carry over, and inputs with a fixed value [preserve_attr, concrete_args].
  fx::TraceOptions trace = {};
  std::vector<std::string> leaf_modules =
      {};  ///< module types that are not traced into [leaf_module]
};

/// Reads MQBench's prepare_custom_config_dict from YAML or JSON, with its names of observers
/// (EMAMinMaxObserver) and fake quantizers (LearnableFakeQuantize), or ours. Throws
/// InvalidArgument, naming file, line and key.
CustomConfig parse_custom_config(const Yaml& document);

/// `config` with the settings, selection and mode of `custom`. Throws InvalidArgument when they
/// contradict each other or the platform.
quant::QConfig customized(quant::QConfig config, const CustomConfig& custom);

/// Inserts quantizers as the platform requires, with its default settings changed by `custom`. A
/// module that is called twice keeps one weight with one quantizer.
/// @param platform  a name in platforms::platforms(), or a YAML file.
/// @param example   inputs from which shapes and types are recorded.
quant::QuantModel prepare_by_platform(fx::Module& model, const std::string& platform,
                                      const CustomConfig& custom = {},
                                      const std::vector<fx::Value>& example = {});

}  // namespace sparsebit::deploy
