#include "quant/config/config_keys.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/quant/observers/observer.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <algorithm>

namespace sparsebit::quant {
namespace {

/// A word out of a list, whatever its case.
std::string one_of(const Yaml& value, const std::vector<std::string>& known) {
  const std::string word = lower_case(value.to_text());
  if (std::find(known.begin(), known.end(), word) != known.end()) return word;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const std::string near = did_you_mean(word, known);
  throw Error(ErrorKind::InvalidArgument,
              c10::str(value.where(), ": there is no '", value.to_text(), "'",
                       near.empty() ? "; there are " + list : near));
}

double number_between(const Yaml& value, double low, double high) {
  const double number = value.to_double();
  SPARSEBIT_CHECK(number >= low && number <= high, InvalidArgument, value.where(),
                  ": expected a number from ", low, " to ", high, ", found ", number);
  return number;
}

int64_t bits_of(const Yaml& value) {
  const int64_t bits = value.to_int();
  const char* hint = bits == 0 ? "; to leave something in float, set QUANTIZER.DISABLE" : "";
  SPARSEBIT_CHECK(bits >= kLeastBits && bits <= kMostBits, InvalidArgument, value.where(),
                  ": expected ", kLeastBits, " to ", kMostBits, " bits, found ", bits, hint);
  return bits;
}

int64_t group_size_of(const Yaml& value) {
  const int64_t size = value.to_int();
  SPARSEBIT_CHECK(size >= 0, InvalidArgument, value.where(),
                  ": expected the size of a group, or 0 for none, found ", size);
  return size;
}

int64_t scale_bits_of(const Yaml& value) {
  const int64_t bits = value.to_int();
  SPARSEBIT_CHECK(bits >= 0 && bits <= 24, InvalidArgument, value.where(),
                  ": expected the significant bits of scales, 1 to 24, or 0 for all, found ", bits);
  return bits;
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

/// The spelling of papers and of the ancestor's pages leads to the same quantizer.
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
      {"QUANTIZER.AVX2_SAFE", kYes, kNo, quantizer(&Q::avx2_safe, flag)},
      {"QUANTIZER.PACT.ALPHA_VALUE", kNo, kYes, quantizer(&Q::pact_alpha, positive)},
      {"OBSERVER.TYPE", kYes, kYes, observer(&O::type, observer_type)},
      {"OBSERVER.PERCENTILE.ALPHA", kYes, kYes, observer(&O::percentile_alpha, share)},
      {"OBSERVER.MOVING_AVERAGE.EMA_RATIO", kNo, kYes, observer(&O::ema_ratio, ratio)},
      {"OBSERVER.ACIQ.DISTRIBUTION", kYes, kYes, observer(&O::distribution, distribution)},
      {"OBSERVER.LAYOUT", kNo, kYes, observer(&O::layout, layout)},
  };
}

}  // namespace

const std::vector<TensorKey>& tensor_keys() {
  static const std::vector<TensorKey> keys = make_keys();
  return keys;
}

void set_tensor_key(TensorConfig& config, Target target, const std::string& key,
                    const Yaml& value) {
  const std::string wanted = upper_case(key);
  std::vector<std::string> known;
  for (const TensorKey& candidate : tensor_keys()) {
    if (!(target == Target::Weight ? candidate.for_weights : candidate.for_features)) continue;
    if (candidate.path == wanted) return candidate.set(config, value);
    known.push_back(candidate.path);
  }
  throw Error(
      ErrorKind::InvalidArgument,
      c10::str(value.where(), ": there is no key '", key, "' for ",
               target == Target::Weight ? "weights" : "features", did_you_mean(wanted, known)));
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
    return c10::str(name, " runs ", text_of_bits(limits.bits), ", not ", config.quantizer.bits);
  });
  check(limits.groups || config.quantizer.group_size == 0, "QUANTIZER.GROUP_SIZE",
        [&] { return name + " has no groups"; });
  check(contains(limits.schemes, to_string(*config.scheme)), "QSCHEME",
        [&] { return name + " needs " + limits.schemes.front(); });
}

}  // namespace

void check_tensor_config(const TensorConfig& config, Target target,
                         const platforms::Platform& platform, const PlaceOfKey& place) {
  const auto check = [&](bool fine, const char* key, const std::string& text) {
    SPARSEBIT_CHECK(fine, InvalidArgument, place(key), ": ", text);
  };
  check(config.scheme.has_value(), "", "QSCHEME is missing");
  check(config.quantizer.bits > 0, "", "QUANTIZER.BIT is missing");
  const std::string& type = config.quantizer.type;
  const bool weights = target == Target::Weight;
  const bool per_channel = config.scheme->granularity == Granularity::PerChannel;
  const bool symmetric = config.scheme->symmetry == Symmetry::Symmetric;
  const char* of_type = "QUANTIZER.TYPE";
  check(weights || type != "adaround", of_type, "adaround is for weights only");
  check(!weights || type != "pact", of_type, "pact is for features only");
  check(type != "pact" || !per_channel, of_type,
        "pact has one scale per tensor: QSCHEME per-tensor-...");
  check(type != "lsq+" || per_channel == symmetric, of_type,
        per_channel ? "lsq+ per channel has to be symmetric" : "lsq+ per tensor has to be affine");
  check(!weights || config.observer.type != "moving_average", "OBSERVER.TYPE",
        "moving_average is for features only");
  check(config.quantizer.group_size == 0 || per_channel, "QUANTIZER.GROUP_SIZE",
        "GROUP_SIZE needs QSCHEME per-channel-...");
  check(!config.quantizer.restricted || symmetric, "QUANTIZER.RESTRICTED",
        "RESTRICTED needs a symmetric QSCHEME");
  if (config.quantizer.disable) return;
  const platforms::TensorLimits& limits = weights ? platform.weights : platform.activations;
  check_limits(config, limits, platform.name, [&](bool fine, const char* key, const auto& text) {
    if (!fine) check(false, key, text());
  });
}

}  // namespace sparsebit::quant
