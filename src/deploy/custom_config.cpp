#include "sparsebit/deploy/prepare.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/ops/value.h"

#include <algorithm>

namespace sparsebit::deploy {
namespace {

using Settings = std::vector<Setting>;
using Names = std::map<std::string, std::string, std::less<>>;

/// MQBench's observers. Its MSEObserver evaluates each batch separately.
const Names& observer_names() {
  static const Names names = {{"MinMaxObserver", "minmax"},
                              {"EMAMinMaxObserver", "moving_average"},
                              {"MinMaxFloorObserver", "min_max_floor"},
                              {"PoTModeObserver", "pot_mode"},
                              {"EMAQuantileObserver", "ema_quantile"},
                              {"ClipStdObserver", "clip_std"},
                              {"LSQObserver", "lsq"},
                              {"MSEObserver", "batch_mse"},
                              {"EMAMSEObserver", "ema_mse"}};
  return names;
}

const Names& quantizer_names() {
  static const Names names = {
      {"FixedFakeQuantize", "uniform"}, {"LearnableFakeQuantize", "lsq"},
      {"NNIEFakeQuantize", "nnie"},     {"DoReFaFakeQuantize", "dorefa"},
      {"DSQFakeQuantize", "dsq"},       {"PACTFakeQuantize", "pact"},
      {"TqtFakeQuantize", "tqt"},       {"AdaRoundFakeQuantize", "adaround"}};
  return names;
}

/// Arguments of MQBench's observers and the corresponding keys of a qconfig.
const Names& argument_keys() {
  static const Names names = {{"p", "OBSERVER.BATCH_MSE.P"},
                              {"ema_ratio", "OBSERVER.MOVING_AVERAGE.EMA_RATIO"},
                              {"threshold", "OBSERVER.EMA_QUANTILE.THRESHOLD"},
                              {"bins", "OBSERVER.EMA_QUANTILE.BINS"},
                              {"std_scale", "OBSERVER.CLIP_STD.STD_SCALE"}};
  return names;
}

[[noreturn]] void fail_unknown(const Yaml& value, const std::string& key,
                               const std::vector<std::string>& known) {
  throw Error(ErrorKind::InvalidArgument,
              c10::str(value.where(), ": there is no key '", key, "'", did_you_mean(key, known)));
}

void add(const std::string& key, const std::string& value, const Yaml& found, Settings& into) {
  into.push_back({key, value, found.where()});
}

/// Translates MQBench's names; other names are returned unchanged.
std::string translated(const Yaml& value, const Names& names) {
  const auto it = names.find(value.to_text());
  return it == names.end() ? value.to_text() : it->second;
}

void read_arguments(const Yaml& map, Settings& into) {
  for (const auto& [name, value] : map.entries()) {
    const auto it = argument_keys().find(name);
    std::vector<std::string> known;
    for (const auto& [argument, key] : argument_keys()) known.push_back(argument);
    if (it == argument_keys().end()) fail_unknown(value, name, known);
    add(it->second, value.to_text(), value, into);
  }
}

/// {bit, symmetry, per_channel, pot_scale, symmetric_range} and arguments of the observer.
void read_scheme(const Yaml& map, Settings& into) {
  bool symmetric = true, per_channel = false;
  for (const auto& [name, value] : map.entries()) {
    if (name == "bit") {
      add("QUANTIZER.BIT", value.to_text(), value, into);
    } else if (name == "symmetry") {
      symmetric = value.to_bool();
    } else if (name == "per_channel") {
      per_channel = value.to_bool();
    } else if (name == "pot_scale") {
      add("QUANTIZER.POT_SCALE", value.to_text(), value, into);
    } else if (name == "symmetric_range") {
      add("QUANTIZER.RESTRICTED", value.to_text(), value, into);
    } else if (const auto it = argument_keys().find(name); it != argument_keys().end()) {
      add(it->second, value.to_text(), value, into);
    } else {
      fail_unknown(value, name, {"bit", "symmetry", "per_channel", "pot_scale", "symmetric_range"});
    }
  }
  add("QSCHEME",
      std::string(per_channel ? "per-channel-" : "per-tensor-") +
          (symmetric ? "symmetric" : "affine"),
      map, into);
}

/// The quantizer type set earlier, or the platforms' default.
std::string chosen_quantizer(const Settings& settings) {
  for (const Setting& setting : settings) {
    if (setting.key == "QUANTIZER.TYPE") return setting.value;
  }
  return "uniform";
}

void read_quantizer_arguments(const Yaml& map, Settings& into) {
  static const std::map<std::pair<std::string, std::string>, std::string> keys = {
      {{"dsq", "alpha"}, "QUANTIZER.DSQ.ALPHA"},
      {{"lsq", "use_grad_scaling"}, "QUANTIZER.LSQ.GRAD_SCALING"},
      {{"lsq+", "use_grad_scaling"}, "QUANTIZER.LSQ.GRAD_SCALING"},
      {{"pact", "alpha"}, "QUANTIZER.PACT.ALPHA_VALUE"}};
  const std::string chosen = chosen_quantizer(into);
  for (const auto& [name, value] : map.entries()) {
    SPARSEBIT_CHECK(name != "scale" && name != "zero_point", InvalidArgument, value.where(),
                    ": calibration sets the initial scale and zero point; remove this argument");
    const auto key = keys.find({chosen, name});
    if (key != keys.end()) {
      add(key->second, value.to_text(), value, into);
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [owner, other] : keys) known.push_back(owner.second);
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail_unknown(value, name, known);
    throw Error(ErrorKind::InvalidArgument, c10::str(value.where(), ": the quantizer '", chosen,
                                                     "' has no argument '", name, "'"));
  }
}

void read_qconfig(const Yaml& map, CustomConfig& config) {
  std::vector<Yaml::Entry> entries = map.entries();
  // The meaning of a quantizer's arguments depends on its type, so types are read first.
  std::stable_partition(entries.begin(), entries.end(), [](const Yaml::Entry& entry) {
    return entry.first.ends_with("_fakequantize");
  });
  for (const auto& [key, value] : entries) {
    const bool is_weight = key.starts_with("w_");
    const std::string name = key.size() > 2 ? key.substr(2) : "";
    Settings& into = is_weight ? config.weights : config.activations;
    const bool has_side = is_weight || key.starts_with("a_");
    if (has_side && name == "observer") {
      add("OBSERVER.TYPE", translated(value, observer_names()), value, into);
    } else if (has_side && name == "fakequantize") {
      add("QUANTIZER.TYPE", translated(value, quantizer_names()), value, into);
    } else if (has_side && name == "qscheme") {
      read_scheme(value, into);
    } else if (has_side && name == "observer_extra_args") {
      read_arguments(value, into);
    } else if (has_side && name == "fakeq_params") {
      read_quantizer_arguments(value, into);
    } else {
      fail_unknown(
          value, key,
          {"w_observer", "a_observer", "w_fakequantize", "a_fakequantize", "w_qscheme", "a_qscheme",
           "w_fakeq_params", "a_fakeq_params", "w_observer_extra_args", "a_observer_extra_args"});
    }
  }
}

void read_selection(const Yaml& map, CustomConfig& config) {
  quant::OperatorSelection& into = config.selection;
  const auto append = [](std::vector<std::string>& names, const Yaml& value) {
    const std::vector<std::string> more = value.to_texts();
    names.insert(names.end(), more.begin(), more.end());
  };
  for (const auto& [key, value] : map.entries()) {
    if (key == "additional_function_type" || key == "additional_module_type") {
      append(into.additional_operators, value);
    } else if (key == "additional_node_name") {
      append(into.additional_nodes, value);
    } else if (key == "exclude_module_name") {
      append(into.excluded_modules, value);
    } else if (key == "exclude_function_type") {
      append(into.excluded_operators, value);
    } else if (key == "exclude_node_name") {
      append(into.excluded_nodes, value);
    } else if (key == "academic_mode") {
      config.academic_mode = value.to_bool();
    } else {
      fail_unknown(
          value, key,
          {"additional_function_type", "additional_module_type", "additional_node_name",
           "exclude_module_name", "exclude_function_type", "exclude_node_name", "academic_mode"});
    }
  }
}

/// null, true, 3, 0.5, text, "3", [2, 3]
fx::Value value_of(const Yaml& value) {
  if (value.is_null()) return fx::None();
  if (value.is_list()) {
    fx::List list;
    for (const Yaml& item : value.items()) list.items.push_back(value_of(item));
    return list;
  }
  switch (value.scalar_type()) {
    case Yaml::ScalarType::Bool:
      return value.to_bool();
    case Yaml::ScalarType::Int:
      return value.to_int();
    case Yaml::ScalarType::Double:
      return value.to_double();
    case Yaml::ScalarType::Text:
      break;
  }
  return value.to_text();
}

}  // namespace

CustomConfig parse_custom_config(const Yaml& document) {
  CustomConfig config;
  for (const auto& [key, value] : document.entries()) {
    if (key == "extra_qconfig_dict") {
      read_qconfig(value, config);
    } else if (key == "extra_quantizer_dict") {
      read_selection(value, config);
    } else if (key == "extra_fuse_dict") {
      for (const auto& [name, list] : value.entries()) {
        if (name != "additional_fusion_pattern")
          fail_unknown(list, name, {"additional_fusion_pattern"});
        config.extra_passes = list.to_texts();
      }
    } else if (key == "preserve_attr") {
      for (const auto& [module, names] : value.entries())
        config.trace.preserve[module] = names.to_texts();
    } else if (key == "leaf_module") {
      config.leaf_modules = value.to_texts();
    } else if (key == "concrete_args") {
      for (const auto& [name, argument] : value.entries())
        config.trace.concrete_args[name] = value_of(argument);
    } else {
      fail_unknown(value, key,
                   {"extra_qconfig_dict", "extra_quantizer_dict", "extra_fuse_dict",
                    "preserve_attr", "concrete_args", "leaf_module"});
    }
  }
  return config;
}

}  // namespace sparsebit::deploy
