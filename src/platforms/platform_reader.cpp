#include "platforms/built_in.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/platforms/platform.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <sstream>
#include <utility>

namespace sparsebit::platforms {
namespace {

using Names = std::vector<std::string>;

template <class Enum, size_t N>
using Words = std::array<std::pair<std::string_view, Enum>, N>;

constexpr Words<IntegerForm, 7> kForms = {{{"layer", IntegerForm::Layer},
                                           {"product", IntegerForm::Product},
                                           {"scaling", IntegerForm::Scaling},
                                           {"joining", IntegerForm::Joining},
                                           {"passing", IntegerForm::Passing},
                                           {"clipping", IntegerForm::Clipping},
                                           {"lookup", IntegerForm::Lookup}}};
constexpr Words<BiasRule, 3> kBiases = {
    {{"float", BiasRule::Float}, {"int32", BiasRule::Int32}, {"quantized", BiasRule::Quantized}}};
constexpr Words<PlacementPolicy::Kind, 2> kPolicies = {
    {{"operator_inputs", PlacementPolicy::Kind::OperatorInputs},
     {"integer_regions", PlacementPolicy::Kind::IntegerRegions}}};
constexpr Words<PlacementPolicy::GraphOutputs, 3> kOutputs = {
    {{"follow", PlacementPolicy::GraphOutputs::Follow},
     {"float", PlacementPolicy::GraphOutputs::Float},
     {"quantized", PlacementPolicy::GraphOutputs::Quantized}}};
constexpr Words<PlacementPolicy::Readers, 2> kReaders = {
    {{"quantized", PlacementPolicy::Readers::Quantized}, {"all", PlacementPolicy::Readers::All}}};

template <class Enum, size_t N>
Enum one_of(const Yaml& value, const Words<Enum, N>& words) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (value.to_text() == word) return meaning;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw Error(ErrorKind::InvalidArgument,
              c10::str(value.where(), ": expected one of ", known, ", found ", value.describe()));
}

/// The allowed keys of a map and their setters. Unknown keys are errors with suggestions.
using Keys = std::map<std::string, std::function<void(const Yaml&)>, std::less<>>;

void read_keys(const Yaml& map, const Keys& keys) {
  for (const auto& [key, value] : map.entries()) {
    const auto it = keys.find(key);
    if (it == keys.end()) {
      Names known;
      for (const auto& [name, set] : keys) known.push_back(name);
      throw Error(ErrorKind::InvalidArgument, c10::str(value.where(), ": there is no key '", key,
                                                       "'", did_you_mean(key, known)));
    }
    it->second(value);
  }
}

auto flag(bool& into) {
  return [&into](const Yaml& v) { into = v.to_bool(); };
}
auto text(std::string& into) {
  return [&into](const Yaml& v) { into = v.to_text(); };
}
auto names(Names& into) {
  return [&into](const Yaml& v) { into = v.to_texts(); };
}
auto number(int64_t& into) {
  return [&into](const Yaml& v) { into = v.to_int(); };
}

/// "conv1d, conv2d" -> {"conv1d", "conv2d"}
Names split_names(const std::string& list) {
  Names found;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    if (first != std::string::npos) found.push_back(word.substr(first, last - first + 1));
  }
  return found;
}

void read_conditions(const Yaml& map, bool equal, OperatorRule& rule) {
  for (const auto& [argument, value] : map.entries())
    rule.conditions.push_back({argument, value.to_text(), equal});
}

OnnxForm read_onnx_form(const Yaml& map) {
  OnnxForm form;
  if (map.is_scalar()) {
    form.from = map.to_text();
    return form;
  }
  read_keys(map, {{"from", text(form.from)},
                  {"to", text(form.to)},
                  {"domain", text(form.domain)},
                  {"needs_integer_result", flag(form.needs_integer_result)},
                  {"order", [&](const Yaml& v) {
                     for (const std::string& part : v.to_texts()) {
                       SPARSEBIT_CHECK(part == "tensors" || part == "bias" || part == "result",
                                       InvalidArgument, v.where(),
                                       ": expected tensors, bias or result, found '", part, "'");
                       form.order.push_back(part);
                     }
                   }}});
  SPARSEBIT_CHECK(!form.from.empty(), InvalidArgument, map.where(), ": 'from' is missing");
  return form;
}

OperatorRule read_rule(const Yaml& map) {
  OperatorRule rule;
  read_keys(map, {{"form", [&](const Yaml& v) { rule.form = one_of(v, kForms); }},
                  {"inputs", names(rule.inputs)},
                  {"needs_integer_result", flag(rule.needs_integer_result)},
                  {"when", [&](const Yaml& v) { read_conditions(v, true, rule); }},
                  {"unless", [&](const Yaml& v) { read_conditions(v, false, rule); }},
                  {"onnx",
                   [&](const Yaml& v) {
                     for (const Yaml& item : v.items()) rule.onnx.push_back(read_onnx_form(item));
                   }},
                  {"joins", flag(rule.joins)},
                  {"on_request", flag(rule.on_request)},
                  {"bits", number(rule.bits)},
                  {"fused_with", names(rule.fused_with)},
                  {"not_after", names(rule.not_after)},
                  {"residual", flag(rule.residual)},
                  {"all_tensors", flag(rule.all_tensors)},
                  {"weight_axis", [&](const Yaml& v) { rule.weight_axis = v.to_int(); }}});
  return rule;
}

void read_operators(const Yaml& map, Platform& platform) {
  for (const auto& [list, value] : map.entries()) {
    for (const std::string& name : split_names(list)) {
      if (value.is_scalar() && value.to_text() == "none") {
        SPARSEBIT_CHECK(platform.operators.erase(name) > 0, InvalidArgument, value.where(),
                        ": the base platform has no operator '", name, "' to remove");
      } else {
        platform.operators[name] = read_rule(value);
      }
    }
  }
}

/// Overwrites only the limits that the map has.
void read_limits(const Yaml& map, TensorLimits& limits) {
  read_keys(map, {{"bits",
                   [&](const Yaml& v) {
                     limits.bits.clear();
                     for (const Yaml& item : v.items()) limits.bits.push_back(item.to_int());
                     SPARSEBIT_CHECK(!limits.bits.empty(), InvalidArgument, v.where(),
                                     ": expected at least one number of bits");
                   }},
                  {"schemes", names(limits.schemes)},
                  {"groups", flag(limits.groups)},
                  {"power_of_two", flag(limits.power_of_two)},
                  {"range",
                   [&](const Yaml& v) {
                     SPARSEBIT_CHECK(
                         v.items().size() == 2, InvalidArgument, v.where(),
                         ": expected the lowest and the highest integer, [low, high], found ",
                         v.items().size(), " items");
                     limits.range = {v.items()[0].to_int(), v.items()[1].to_int()};
                   }},
                  {"signed_integers", flag(limits.signed_integers)},
                  {"full_range", flag(limits.full_range)},
                  {"unsupported_quantizers", names(limits.unsupported_quantizers)}});
}

void read_placement(const Yaml& map, PlacementPolicy& policy) {
  read_keys(map,
            {{"policy", [&](const Yaml& v) { policy.kind = one_of(v, kPolicies); }},
             {"inputs", flag(policy.inputs)},
             {"outputs", flag(policy.outputs)},
             {"pass_through", names(policy.pass_through)},
             {"fuses", names(policy.fuses)},
             {"transparent", names(policy.transparent)},
             {"keeps_grid", names(policy.keeps_grid)},
             {"graph_inputs", flag(policy.graph_inputs)},
             {"graph_outputs", [&](const Yaml& v) { policy.graph_outputs = one_of(v, kOutputs); }},
             {"readers", [&](const Yaml& v) { policy.readers = one_of(v, kReaders); }},
             {"first_and_last_bits", number(policy.first_and_last_bits)},
             {"unsigned_after", names(policy.unsigned_after)},
             {"unsigned_follows", names(policy.unsigned_follows)}});
}

/// [per MAC, per element]
KernelTime read_time(const Yaml& list) {
  const std::vector<Yaml>& items = list.items();
  SPARSEBIT_CHECK(items.size() == 2, InvalidArgument, list.where(),
                  ": expected nanoseconds per MAC and per element, found ", items.size(), " items");
  const KernelTime time{items[0].to_double(), items[1].to_double()};
  SPARSEBIT_CHECK(time.per_mac >= 0 && time.per_element >= 0, InvalidArgument, list.where(),
                  ": expected times of 0 or more, found ", time.per_mac, " and ", time.per_element);
  return time;
}

void read_costs(const Yaml& map, KernelCosts& costs) {
  const std::map<std::string, double*> numbers = {{"quantize", &costs.quantize},
                                                  {"dequantize", &costs.dequantize},
                                                  {"shortest_network", &costs.shortest_network}};
  for (const auto& [list, value] : map.entries()) {
    const auto number = numbers.find(list);
    if (number != numbers.end()) {
      *number->second = value.to_double();
      continue;
    }
    KernelCost cost;
    read_keys(value,
              {{"float", [&](const Yaml& v) { cost.as_float = read_time(v); }},
               {"integer", [&](const Yaml& v) { cost.as_integer = read_time(v); }},
               {"before_quantize", [&](const Yaml& v) { cost.before_quantize = v.to_double(); }}});
    for (const std::string& name : split_names(list)) costs.kernels[name] = cost;
  }
}

/// The platform named by `based_on`; without this key a default-constructed one.
Platform base_of(const Yaml& document) {
  const Yaml* base = document.find("based_on");
  if (!base) return {};
  const std::string_view text = built_in_text(base->to_text());
  SPARSEBIT_CHECK(!text.empty(), InvalidArgument, base->where(), ": there is no built-in platform ",
                  base->describe(), "; `sparsebit platforms` lists them");
  return *parse_platform(text, base->to_text() + ".yaml");
}

/// Writes the platform's own name into BACKEND of its config, which `based_on` copies from another.
void name_backend(std::string& config, const std::string& name) {
  const std::string key = "BACKEND: ";
  size_t at = config.starts_with(key) ? 0 : config.find("\n" + key);
  if (at == std::string::npos) return;
  if (at > 0) ++at;
  config.replace(at, config.find('\n', at) - at, key + name);
}

void check_name(const Yaml& value) {
  const std::string& name = value.to_text();
  const auto is_fine = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  SPARSEBIT_CHECK(!name.empty() && std::all_of(name.begin(), name.end(), is_fine), InvalidArgument,
                  value.where(), ": expected letters, digits and '_', found ", value.describe());
}

}  // namespace

PlatformPtr parse_platform(std::string_view yaml, const std::string& name_of_text) {
  const Yaml document = parse_yaml(yaml, name_of_text);
  SPARSEBIT_CHECK(document.is_map(), InvalidArgument, document.where(),
                  ": expected a platform (name: ..., operators: ...), found ", document.describe());
  SPARSEBIT_CHECK(!document.find("W") && !document.find("A"), InvalidArgument, document.where(),
                  ": this is a quantization config, not a platform; the command takes it with -c");
  auto platform = std::make_shared<Platform>(base_of(document));
  platform->text = yaml;
  platform->name.clear();
  const auto limits = [&](TensorLimits& into) {
    return [&into](const Yaml& v) { read_limits(v, into); };
  };
  read_keys(document,
            {{"name",
              [&](const Yaml& v) {
                check_name(v);
                platform->name = v.to_text();
              }},
             {"based_on", [](const Yaml&) {}},
             {"summary", text(platform->summary)},
             {"config", text(platform->config)},
             {"weights", limits(platform->weights)},
             {"activations", limits(platform->activations)},
             {"bias", [&](const Yaml& v) { platform->bias = one_of(v, kBiases); }},
             {"placement", [&](const Yaml& v) { read_placement(v, platform->placement); }},
             {"operators", [&](const Yaml& v) { read_operators(v, *platform); }},
             {"floats",
              [&](const Yaml& v) {
                for (const auto& [list, why] : v.entries()) {
                  for (const std::string& name : split_names(list))
                    platform->floats[name] = why.to_text();
                }
              }},
             {"costs", [&](const Yaml& v) { read_costs(v, platform->costs); }},
             {"scale_fit", text(platform->scale_fit)},
             {"lowering", names(platform->lowering)},
             {"float_kernels", text(platform->float_kernels)},
             {"runs_in_onnxruntime", flag(platform->runs_in_onnxruntime)},
             {"exact_sums", flag(platform->exact_sums)},
             {"four_bit_types", flag(platform->four_bit_types)},
             {"integer_operators", flag(platform->integer_operators)},
             {"artefacts", names(platform->artefacts)}});
  SPARSEBIT_CHECK(!platform->name.empty(), InvalidArgument, document.where(),
                  ": 'name' is missing");
  name_backend(platform->config, platform->name);
  SPARSEBIT_CHECK(!platform->config.empty(), InvalidArgument, document.where(),
                  ": 'config' is missing: the default settings of the platform");
  return platform;
}

std::string_view to_string(IntegerForm form) {
  for (const auto& [word, known] : kForms) {
    if (known == form) return word;
  }
  return "?";
}

}  // namespace sparsebit::platforms
