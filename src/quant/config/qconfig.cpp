#include "sparsebit/quant/config/qconfig.h"

#include "quant/config/config_keys.h"
#include "quant/config/platform_check.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/glob.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/passes/pass.h"

#include <algorithm>
#include <map>

namespace sparsebit::quant {
namespace {

/// The given platform if it has this name, else the registered one.
platforms::PlatformPtr platform_of(const Yaml& value, const platforms::PlatformPtr& given) {
  const bool is_file = value.to_text().ends_with(".yaml") || value.to_text().ends_with(".yml");
  const std::string name = is_file ? value.to_text() : lower_case(value.to_text());
  if (given && (name == given->name || value.to_text() == given->name)) return given;
  SPARSEBIT_CHECK(!given, InvalidArgument, value.where(), ": the config is for platform ", name,
                  ", but --platform is ", given->name);
  try {
    return platforms::find_platform(name);
  } catch (const Error& e) {
    throw with_prefix(value.where() + ": ", e, ErrorKind::InvalidArgument);
  }
}

[[noreturn]] void fail_unknown_key(const Yaml& value, const std::string& key,
                                   const std::vector<std::string>& known) {
  throw Error(ErrorKind::InvalidArgument, c10::str(value.where(), ": there is no key '", key, "'",
                                                   did_you_mean(upper_case(key), known)));
}

/// The position of each key in the file.
using Places = std::map<std::string, std::string>;

/// Keys are case-insensitive, so the YAML parser does not find all duplicates.
void note(Places& places, const std::string& key, const Yaml& value) {
  SPARSEBIT_CHECK(places.emplace(key, value.where()).second, InvalidArgument, value.where(),
                  ": duplicate key '", key, "'");
}

/// ["QUANTIZER.BIT", 4, "OBSERVER.TYPE", "mse"]
SpecificRule read_rule(const std::string& pattern, const Yaml& list, Target target) {
  SpecificRule rule{pattern, {}, list.where()};
  const std::vector<Yaml>& items = list.items();
  SPARSEBIT_CHECK(!items.empty() && items.size() % 2 == 0, InvalidArgument, list.where(),
                  ": expected alternating keys and values, [KEY, value, KEY, value], found ",
                  items.size(), " items");
  TensorConfig scratch;
  for (size_t i = 0; i < items.size(); i += 2) {
    set_tensor_key(scratch, target, items[i].to_text(), items[i + 1]);
    rule.settings.emplace_back(items[i].to_text(), items[i + 1]);
  }
  return rule;
}

Specific read_specific(const Yaml& value, Target target) {
  Specific specific;
  if (value.is_null()) return specific;
  for (const Yaml& element : value.items()) {
    std::vector<SpecificRule>& rules = specific.emplace_back();
    for (const auto& [pattern, settings] : element.entries())
      rules.push_back(read_rule(pattern, settings, target));
  }
  return specific;
}

/// Reads `W` or `A`, whose keys are maps of maps.
class TensorReader {
 public:
  /// @param places  the position of each key: "W.QUANTIZER.BIT" -> "q.yaml:4: W.QUANTIZER.BIT"
  TensorReader(Target target, TensorConfig& config, Specific& specific, bool* quantize_add,
               Places& places)
      : target_(target),
        config_(config),
        specific_(specific),
        quantize_add_(quantize_add),
        places_(places) {}

  void read(const Yaml& map, const std::string& prefix = "") {
    if (map.is_null()) return;
    for (const auto& [name, value] : map.entries()) {
      const std::string key = prefix + upper_case(name);
      note(places_, (target_ == Target::Weight ? "W." : "A.") + key, value);
      if (key == "SPECIFIC") {
        specific_ = read_specific(value, target_);
      } else if (key == "QADD.ENABLE_QUANT" && quantize_add_) {
        *quantize_add_ = value.to_bool();
      } else if (is_group(key)) {
        read(value, key + ".");
      } else {
        set_tensor_key(config_, target_, key, value);
      }
    }
  }

 private:
  bool is_group(const std::string& key) const {
    if (key == "QADD" && quantize_add_) return true;
    return std::any_of(tensor_keys().begin(), tensor_keys().end(),
                       [&](const TensorKey& known) { return known.path.starts_with(key + "."); });
  }

  Target target_;
  TensorConfig& config_;
  Specific& specific_;
  bool* quantize_add_;  // null for weights
  Places& places_;
};

QuantSchedule read_schedule(const Yaml& map) {
  QuantSchedule schedule;
  if (map.is_null()) return schedule;
  std::vector<std::string> known = {"FUSE_BN", "BN_TUNING", "DISABLE_UNNECESSARY_QUANT",
                                    "FLOAT_WHERE_FASTER", "BIAS_CORRECTION"};
  for (const std::string& pass : passes::passes().names()) known.push_back(upper_case(pass));
  Places places;
  for (const auto& [name, value] : map.entries()) {
    const std::string key = upper_case(name);
    note(places, key, value);
    if (key == "FUSE_BN") {
      schedule.fuse_bn = value.to_bool();
    } else if (key == "FLOAT_WHERE_FASTER") {
      schedule.float_where_faster = value.to_bool();
    } else if (key == "BIAS_CORRECTION") {
      schedule.bias_correction = value.to_bool();
    } else if (key == "BN_TUNING") {
      schedule.bn_tuning = value.to_bool();
    } else if (key == "DISABLE_UNNECESSARY_QUANT") {
      schedule.disable_unnecessary_quant = value.to_bool();
    } else if (std::find(known.begin(), known.end(), key) != known.end()) {
      schedule.passes[lower_case(name)] = value.to_bool();
    } else {
      fail_unknown_key(value, name, known);
    }
  }
  return schedule;
}

std::string device_of(const Yaml& value) {
  const std::string device = lower_case(value.to_text());
  SPARSEBIT_CHECK(device == "cpu", Unsupported, value.where(), ": only cpu is supported, found '",
                  value.to_text(), "'");
  return device;
}

/// Checks the rules of the first element of SPECIFIC. Rules of later elements may depend on
/// settings of earlier ones and are checked in of_layer().
void check_rules(const QConfig& config, Target target) {
  const bool weights = target == Target::Weight;
  const Specific& specific = weights ? config.weight_specific : config.activation_specific;
  if (specific.empty()) return;
  for (const SpecificRule& rule : specific.front()) {
    TensorConfig alone = weights ? config.weight : config.activation;
    for (const auto& [key, value] : rule.settings) set_tensor_key(alone, target, key, value);
    check_tensor_config(alone, target, *config.platform,
                        [&](const std::string&) { return rule.where; });
  }
}

}  // namespace

TensorConfig QConfig::of_layer(Target target, const LayerNames& layer,
                               std::vector<const SpecificRule*>* used) const {
  TensorConfig config = target == Target::Weight ? weight : activation;
  std::string where = "layer '" + layer.name + "'";
  for (const auto& element : target == Target::Weight ? weight_specific : activation_specific) {
    const auto rule =
        std::find_if(element.begin(), element.end(), [&](const SpecificRule& candidate) {
          return glob_match(layer.name, candidate.pattern) ||
                 glob_match(layer.path, candidate.pattern) ||
                 glob_match(layer.source_name, candidate.pattern);
        });
    if (rule == element.end()) continue;
    for (const auto& [key, value] : rule->settings) set_tensor_key(config, target, key, value);
    where = rule->where + ": layer '" + layer.name + "'";
    if (used) used->push_back(&*rule);
  }
  check_tensor_config(config, target, *platform, [&](const std::string&) { return where; });
  return config;
}

QConfig parse_qconfig(const Yaml& document, platforms::PlatformPtr platform) {
  QConfig config;
  if (platform) config.platform = platform;
  const std::vector<std::string> known = {"BACKEND",  "DEVICE", "SKIP_TRACE_MODULES",
                                          "SCHEDULE", "W",      "A"};
  SPARSEBIT_CHECK(document.is_map(), InvalidArgument, document.where(),
                  ": expected a config (W: ..., A: ...), found ", document.describe());
  SPARSEBIT_CHECK(!document.find("operators") && !document.find("based_on"), InvalidArgument,
                  document.where(),
                  ": this is a platform, not a quantization config; the command takes it with "
                  "--platform");
  Places places;
  for (const auto& [name, value] : document.entries()) {
    const std::string key = upper_case(name);
    note(places, key, value);
    if (key == "BACKEND") {
      config.platform = platform_of(value, platform);
    } else if (key == "DEVICE") {
      config.device = device_of(value);
    } else if (key == "SKIP_TRACE_MODULES") {
      if (!value.is_null()) config.skip_trace_modules = value.to_texts();
    } else if (key == "SCHEDULE") {
      config.schedule = read_schedule(value);
    } else if (key == "W") {
      TensorReader(Target::Weight, config.weight, config.weight_specific, nullptr, places)
          .read(value);
    } else if (key == "A") {
      TensorReader(Target::Activation, config.activation, config.activation_specific,
                   &config.quantize_add, places)
          .read(value);
    } else {
      fail_unknown_key(value, name, known);
    }
  }
  check_platform(*config.platform);
  places.emplace("W", document.where() + ": W");  // if the section is missing
  places.emplace("A", document.where() + ": A");
  const auto place_in = [&](const std::string& side) {
    return [&places, side](const std::string& key) {
      const auto it = places.find(side + "." + key);
      return it == places.end() ? places.at(side) : it->second;
    };
  };
  check_tensor_config(config.weight, Target::Weight, *config.platform, place_in("W"));
  check_tensor_config(config.activation, Target::Activation, *config.platform, place_in("A"));
  const bool per_channel = config.weight.scheme->granularity == Granularity::PerChannel;
  const bool keeps_norms =
      config.platform->placement.kind != platforms::PlacementPolicy::Kind::IntegerRegions;
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || keeps_norms, InvalidArgument, places["SCHEDULE"],
                  ": BN_TUNING keeps batch norms, and BACKEND ", config.platform->name,
                  " has no integers for them");
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || !config.schedule.bias_correction, InvalidArgument,
                  places["SCHEDULE"],
                  ": BN_TUNING and BIAS_CORRECTION both correct the mean error: set only one");
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || per_channel, InvalidArgument, places["SCHEDULE"],
                  ": BN_TUNING needs W.QSCHEME per-channel-...");
  check_rules(config, Target::Weight);
  check_rules(config, Target::Activation);
  return config;
}

QConfig parse_qconfig(const std::filesystem::path& file, platforms::PlatformPtr platform) {
  return parse_qconfig(read_yaml(file), std::move(platform));
}

void QConfig::set(Target target, const std::string& key, const std::string& value) {
  TensorConfig& config = target == Target::Weight ? weight : activation;
  set_tensor_key(config, target, key, parse_yaml(value, key));
  auto& range = config.quantizer.range;  // a range of other bits is dropped
  if (range && !range->fits(static_cast<int>(config.quantizer.bits))) range.reset();
}

void check_qconfig(const QConfig& config) {
  for (const Target target : {Target::Weight, Target::Activation}) {
    const bool weights = target == Target::Weight;
    check_tensor_config(weights ? config.weight : config.activation, target, *config.platform,
                        [&](const std::string& key) { return (weights ? "W." : "A.") + key; });
  }
}

QConfig default_qconfig(const platforms::PlatformPtr& platform) {
  return parse_qconfig(parse_yaml(platform->config, "the config of " + platform->name), platform);
}

QConfig default_qconfig(const std::string& platform) {
  return default_qconfig(platforms::find_platform(platform));
}

}  // namespace sparsebit::quant
