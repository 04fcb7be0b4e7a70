#include "quant/config/config_keys.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/quant/observers/observer.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <algorithm>

namespace sparsebit::quant {
namespace {

/// A word of a list, case-insensitive.
std::string one_of(const Yaml& value, const std::vector<std::string>& known) {
  const std::string word = lower_case(value.to_text());
  if (std::find(known.begin(), known.end(), word) != known.end()) return word;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const std::string near = did_you_mean(word, known);
  throw Error(ErrorKind::InvalidArgument,
              c10::str(value.where(), ": unknown value '", value.to_text(), "'",
                       near.empty() ? "; known: " + list : near));
}

double number_between(const Yaml& value, double low, double high) {
  const double number = value.to_double();
  SPARSEBIT_CHECK(number >= low && number <= high, InvalidArgument, value.where(),
                  ": expected a number from ", low, " to ", high, ", found ", number);
  return number;
}

int64_t bits_of(const Yaml& value) {
  const int64_t bits = value.to_int();
  const char* hint = bits == 0 ? "; to keep a tensor in float, set QUANTIZER.DISABLE" : "";
  SPARSEBIT_CHECK(bits >= kLeastBits && bits <= kMostBits, InvalidArgument, value.where(),
                  ": expected ", kLeastBits, " to ", kMostBits, " bits, found ", bits, hint);
  return bits;
}

int64_t group_size_of(const Yaml& value) {
  const int64_t size = value.to_int();
  SPARSEBIT_CHECK(size >= 0, InvalidArgument, value.where(),
                  ": expected the group size, or 0 for no groups, found ", size);
  return size;
}

int64_t bins_of(const Yaml& value) {
  const int64_t bins = value.to_int();
  SPARSEBIT_CHECK(bins >= 2 && bins <= 1000000, InvalidArgument, value.where(),
                  ": expected 2 to 1000000 bins, found ", bins);
  return bins;
}

int64_t scale_bits_of(const Yaml& value) {
  const int64_t bits = value.to_int();
  SPARSEBIT_CHECK(bits >= 0 && bits <= 24, InvalidArgument, value.where(),
                  ": expected the significant bits of scales, 1 to 24, or 0 for all, found ", bits);
  return bits;
}

/// [low, high]; nullopt for all integers of the bits.
std::optional<IntegerRange> range_of(const Yaml& value) {
  if (value.is_null()) return std::nullopt;
  const std::vector<Yaml>& items = value.items();
  SPARSEBIT_CHECK(items.size() == 2, InvalidArgument, value.where(),
                  ": expected the lowest and the highest integer, [low, high], found ",
                  items.size(), " items");
  return IntegerRange{items[0].to_int(), items[1].to_int()};
}

QuantScheme scheme_of(const Yaml& value) {
  std::string text = lower_case(value.to_text());
  std::replace(text.begin(), text.end(), '_', '-');
  try {
    return scheme_from_text(text);
  } catch (const Error& e) {
    throw Error(ErrorKind::InvalidArgument, value.where() + ": " + e.what());
  }
}

/// Accepts alternative spellings of lsq+.
std::string quantizer_type(const Yaml& value) {
  const std::string word = lower_case(value.to_text());
  if (word == "lsq_plus" || word == "lsqplus") return "lsq+";
  return one_of(value, quantizers().names());
}

std::string observer_type(const Yaml& value) { return one_of(value, observers().names()); }

std::vector<TensorKey> make_keys() {
  constexpr bool kYes = true, kNo = false;
  const auto quantizer = [](auto member, auto read) {
    return [=](TensorConfig& config, const Yaml& value) { config.quantizer.*member = read(value); };
  };
  const auto observer = [](auto member, auto read) {
    return [=](TensorConfig& config, const Yaml& value) { config.observer.*member = read(value); };
  };
  const auto flag = [](const Yaml& value) { return value.to_bool(); };
  const auto share = [](const Yaml& value) { return number_between(value, 0, 0.5); };
  const auto ratio = [](const Yaml& value) { return number_between(value, 0, 1); };
  const auto positive = [](const Yaml& value) { return number_between(value, 1e-6, 1e6); };
  const auto softness = [](const Yaml& value) { return number_between(value, 0.001, 0.999); };
  const auto exponent = [](const Yaml& value) { return number_between(value, 0.1, 10); };
  const auto distribution = [](const Yaml& value) {
    const bool laplace = one_of(value, {"gaus", "gauss", "laplace"}) == "laplace";
    return laplace ? Distribution::Laplace : Distribution::Gauss;
  };
  const auto layout = [](const Yaml& value) {
    return one_of(value, {"nchw", "nlc"}) == "nlc" ? Layout::Nlc : Layout::Nchw;
  };
  using Q = QuantizerConfig;
  using O = ObserverConfig;
  return {
      {"QSCHEME", kYes, kYes,
       [](TensorConfig& config, const Yaml& value) { config.scheme = scheme_of(value); }},
      {"QUANTIZER.TYPE", kYes, kYes, quantizer(&Q::type, quantizer_type)},
      {"QUANTIZER.DISABLE", kYes, kYes, quantizer(&Q::disable, flag)},
      {"QUANTIZER.BIT", kYes, kYes, quantizer(&Q::bits, bits_of)},
      {"QUANTIZER.GROUP_SIZE", kYes, kNo, quantizer(&Q::group_size, group_size_of)},
      {"QUANTIZER.RESTRICTED", kYes, kYes, quantizer(&Q::restricted, flag)},
      {"QUANTIZER.SCALE_BITS", kYes, kYes, quantizer(&Q::scale_bits, scale_bits_of)},
      {"QUANTIZER.POT_SCALE", kYes, kYes, quantizer(&Q::pot_scale, flag)},
      {"QUANTIZER.RANGE", kYes, kYes, quantizer(&Q::range, range_of)},
      {"QUANTIZER.AVX2_SAFE", kYes, kNo, quantizer(&Q::avx2_safe, flag)},
      {"QUANTIZER.PACT.ALPHA_VALUE", kNo, kYes, quantizer(&Q::pact_alpha, positive)},
      {"QUANTIZER.LSQ.GRAD_SCALING", kYes, kYes, quantizer(&Q::lsq_grad_scaling, flag)},
      {"QUANTIZER.DSQ.ALPHA", kYes, kYes, quantizer(&Q::dsq_alpha, softness)},
      {"OBSERVER.TYPE", kYes, kYes, observer(&O::type, observer_type)},
      {"OBSERVER.PERCENTILE.ALPHA", kYes, kYes, observer(&O::percentile_alpha, share)},
      {"OBSERVER.MOVING_AVERAGE.EMA_RATIO", kNo, kYes, observer(&O::ema_ratio, ratio)},
      {"OBSERVER.ACIQ.DISTRIBUTION", kYes, kYes, observer(&O::distribution, distribution)},
      {"OBSERVER.LAYOUT", kNo, kYes, observer(&O::layout, layout)},
      {"OBSERVER.EMA_QUANTILE.THRESHOLD", kYes, kYes, observer(&O::quantile, ratio)},
      {"OBSERVER.EMA_QUANTILE.BINS", kYes, kYes, observer(&O::quantile_bins, bins_of)},
      {"OBSERVER.CLIP_STD.STD_SCALE", kYes, kYes, observer(&O::std_scale, positive)},
      {"OBSERVER.CLIP_STD.WIDEN", kYes, kYes, observer(&O::std_widens, flag)},
      {"OBSERVER.BATCH_MSE.P", kYes, kYes, observer(&O::error_exponent, exponent)},
      {"OBSERVER.NETWORK_INPUT", kNo, kYes, observer(&O::network_input, flag)},
  };
}

}  // namespace

const std::vector<TensorKey>& tensor_keys() {
  static const std::vector<TensorKey> keys = make_keys();
  return keys;
}

namespace {

/// As many parts of `path` as `like` has: what OBSERVR is near to is OBSERVER, not OBSERVER.TYPE.
std::string first_parts(const std::string& path, const std::string& like) {
  size_t end = 0;
  for (auto dots = std::count(like.begin(), like.end(), '.'); dots >= 0; --dots) {
    end = path.find('.', end == 0 ? 0 : end + 1);
    if (end == std::string::npos) return path;
  }
  return path.substr(0, end);
}

}  // namespace

void set_tensor_key(TensorConfig& config, Target target, const std::string& key,
                    const Yaml& value) {
  const std::string wanted = upper_case(key);
  std::vector<std::string> known;
  for (const TensorKey& candidate : tensor_keys()) {
    if (!(target == Target::Weight ? candidate.for_weights : candidate.for_activations)) continue;
    if (candidate.path == wanted) return candidate.set(config, value);
    known.push_back(first_parts(candidate.path, wanted));
  }
  throw Error(
      ErrorKind::InvalidArgument,
      c10::str(value.where(), ": there is no key '", key, "' for ",
               target == Target::Weight ? "weights" : "activations", did_you_mean(wanted, known)));
}

namespace {

/// "8 bits", "2 to 8 bits"
std::string text_of_bits(const std::vector<int64_t>& bits) {
  const auto [low, high] = std::minmax_element(bits.begin(), bits.end());
  return (*low == *high ? "" : std::to_string(*low) + " to ") + std::to_string(*high) + " bits";
}

template <class Check>
void check_limits(const TensorConfig& config, const platforms::TensorLimits& limits,
                  const std::string& platform, const Check& check) {
  const std::string name = "BACKEND " + platform;
  const auto contains = [](const auto& list, const auto& item) {
    return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
  };
  check(contains(limits.bits, config.quantizer.bits), "QUANTIZER.BIT", [&] {
    return c10::str(name, " supports ", text_of_bits(limits.bits), ", not ", config.quantizer.bits);
  });
  check(limits.groups || config.quantizer.group_size == 0, "QUANTIZER.GROUP_SIZE",
        [&] { return name + " does not support GROUP_SIZE"; });
  const QuantizerConfig& quantizer = config.quantizer;
  const bool powers = quantizer.type == "tqt" || quantizer.pot_scale || quantizer.scale_bits == 1;
  check(!limits.power_of_two || powers, "QUANTIZER.POT_SCALE",
        [&] { return name + " needs scales that are powers of two: POT_SCALE or TYPE tqt"; });
  const auto& misfits = limits.unsupported_quantizers;
  check(misfits.empty() || !contains(misfits, config.quantizer.type), "QUANTIZER.TYPE",
        [&] { return name + " does not support TYPE " + config.quantizer.type; });
  const auto& range = config.quantizer.range;
  const int64_t steps = (int64_t{1} << config.quantizer.bits) - 1;
  if (!limits.range.empty()) {
    const QuantSpec spec{.scheme = *config.scheme,
                         .bits = static_cast<int>(quantizer.bits),
                         .restricted = quantizer.restricted,
                         .range = range};
    check(spec.qmin() >= limits.range[0] && spec.qmax() <= limits.range[1], "QUANTIZER.RANGE", [&] {
      return c10::str(name, " needs a RANGE within [", limits.range[0], ", ", limits.range[1],
                      "], found ", spec.qmin(), " to ", spec.qmax());
    });
  }
  check(!limits.signed_integers || !range || range->low < 0, "QUANTIZER.RANGE", [&] {
    return c10::str(name, " needs signed integers, found ", range->low, " to ", range->high);
  });
  check(!limits.full_range || !range || range->high - range->low == steps, "QUANTIZER.RANGE", [&] {
    return c10::str(name, " needs all integers of ", config.quantizer.bits, " bits, found ",
                    range->low, " to ", range->high);
  });
  check(contains(limits.schemes, to_string(*config.scheme)), "QSCHEME",
        [&] { return name + " needs " + limits.schemes.front(); });
}

/// Checks that the settings are supported by the QUANTIZER.TYPE.
template <class Check>
void check_quantizer(const TensorConfig& config, Target target, const Check& check) {
  const char* key = "QUANTIZER.TYPE";
  const QuantizerConfig& quantizer = config.quantizer;
  const std::string& type = quantizer.type;
  const bool weights = target == Target::Weight;
  const bool per_channel = config.scheme->granularity == Granularity::PerChannel;
  const bool symmetric = config.scheme->symmetry == Symmetry::Symmetric;
  check(weights || (type != "adaround" && type != "gptq"), key, type + " is for weights only");
  check(!weights || type != "pact", key, "pact is for activations only");
  check(type != "pact" || !per_channel, key,
        "pact has one scale per tensor: set QSCHEME per-tensor-...");
  check(type != "lsq+" || per_channel == symmetric, key,
        per_channel ? "lsq+ per channel must be symmetric" : "lsq+ per tensor must be affine");
  check(type != "tqt" || (symmetric && !per_channel), key,
        "tqt needs QSCHEME per-tensor-symmetric");
  check(type != "nnie" || (symmetric && !per_channel && quantizer.bits == 8 && !quantizer.range),
        key, "nnie needs QSCHEME per-tensor-symmetric and all integers of BIT 8");
  const bool trains_scale = type == "lsq" || type == "lsq+" || type == "pact";
  check(
      !quantizer.pot_scale || !trains_scale, key,
      type +
          " trains its scale, which does not stay a power of two: use another TYPE with POT_SCALE");
}

/// Checks that the settings are supported by the OBSERVER.TYPE.
template <class Check>
void check_observer(const TensorConfig& config, Target target, const Check& check) {
  const char* key = "OBSERVER.TYPE";
  const std::string& type = config.observer.type;
  const bool per_channel = config.scheme->granularity == Granularity::PerChannel;
  const bool symmetric = config.scheme->symmetry == Symmetry::Symmetric;
  check(target != Target::Weight || type != "moving_average", key,
        "moving_average is for activations only");
  const bool finds_powers = type == "min_max_floor" || type == "pot_mode";
  check(!per_channel || (type != "ema_quantile" && !finds_powers), key,
        type + " has one range per tensor: set QSCHEME per-tensor-...");
  const bool is_signed = !config.quantizer.range || config.quantizer.range->low < 0;
  check(!finds_powers || (symmetric && is_signed), key,
        type + " needs a symmetric QSCHEME with negative integers");
}

/// Checks that QUANTIZER.RANGE is valid and compatible with the other settings.
template <class Check>
void check_range(const TensorConfig& config, Target target, const Check& check) {
  if (!config.quantizer.range) return;
  const char* key = "QUANTIZER.RANGE";
  const IntegerRange range = *config.quantizer.range;
  const int64_t bits = config.quantizer.bits, half = int64_t{1} << (bits - 1);
  check(range.low < range.high, key,
        c10::str("the lowest integer, ", range.low, ", is not below the highest, ", range.high));
  check(range.fits(static_cast<int>(bits)), key,
        c10::str("[", range.low, ", ", range.high, "] is not within ", bits, " bits: ", -half,
                 " to ", half - 1, " or 0 to ", 2 * half - 1));
  check(!config.quantizer.restricted, "QUANTIZER.RESTRICTED",
        "RESTRICTED cannot be combined with RANGE");
  if (config.scheme->symmetry == Symmetry::Affine) return;
  check(range.is_balanced(), key,
        c10::str("a symmetric QSCHEME needs integers from 0 to n, -n to n or -n - 1 to n, found ",
                 range.low, " to ", range.high));
  check(target != Target::Weight || range.low < 0, key, "symmetric weights need negative integers");
}

}  // namespace

void check_tensor_config(const TensorConfig& config, Target target,
                         const platforms::Platform& platform, const PlaceOfKey& place) {
  const auto check = [&](bool fine, const char* key, const std::string& text) {
    SPARSEBIT_CHECK(fine, InvalidArgument, place(key), ": ", text);
  };
  check(config.scheme.has_value(), "", "QSCHEME is missing");
  check(config.quantizer.bits > 0, "", "QUANTIZER.BIT is missing");
  const bool per_channel = config.scheme->granularity == Granularity::PerChannel;
  const bool symmetric = config.scheme->symmetry == Symmetry::Symmetric;
  check_quantizer(config, target, check);
  check_observer(config, target, check);
  check(config.quantizer.group_size == 0 || per_channel, "QUANTIZER.GROUP_SIZE",
        "GROUP_SIZE needs QSCHEME per-channel-...");
  check(!config.quantizer.restricted || symmetric, "QUANTIZER.RESTRICTED",
        "RESTRICTED needs a symmetric QSCHEME");
  check(!config.quantizer.pot_scale || config.quantizer.scale_bits == 0, "QUANTIZER.POT_SCALE",
        "POT_SCALE and SCALE_BITS both round scales: set only one");
  check_range(config, target, check);
  if (config.quantizer.disable) return;
  const platforms::TensorLimits& limits =
      target == Target::Weight ? platform.weights : platform.activations;
  check_limits(config, limits, platform.name, [&](bool fine, const char* key, const auto& text) {
    if (!fine) check(false, key, text());
  });
}

}  // namespace sparsebit::quant
