#include "quant/config/config_keys.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sparsebit::quant::config_keys_test {
namespace {

using platforms::Platform;
using testing::HasSubstr;
using testing::StartsWith;

/// Keys and their values, set in order.
using Settings = std::vector<std::pair<std::string, std::string>>;

void set(TensorConfig& config, Target target, const Settings& settings) {
  for (const auto& [key, value] : settings)
    set_tensor_key(config, target, key, parse_yaml(value, "q.yaml"));
}

std::string error_in(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "";
}

// --- keys ---------------------------------------------------------------------------------------

struct KeyCase {
  const char* key;
  const char* sides;  // W, A or both
  const char* value;
  std::function<void(TensorConfig&)> expected;
};

const std::vector<KeyCase>& key_cases() {
  static const std::vector<KeyCase> cases = {
      {"QSCHEME", "WA", "per_channel_Affine",
       [](auto& c) { c.scheme = QuantScheme{Granularity::PerChannel, Symmetry::Affine}; }},
      {"QUANTIZER.TYPE", "WA", "LSQ_plus", [](auto& c) { c.quantizer.type = "lsq+"; }},
      {"QUANTIZER.DISABLE", "WA", "yes", [](auto& c) { c.quantizer.disable = true; }},
      {"QUANTIZER.BIT", "WA", "5", [](auto& c) { c.quantizer.bits = 5; }},
      {"QUANTIZER.GROUP_SIZE", "W", "32", [](auto& c) { c.quantizer.group_size = 32; }},
      {"QUANTIZER.RESTRICTED", "WA", "true", [](auto& c) { c.quantizer.restricted = true; }},
      {"QUANTIZER.SCALE_BITS", "WA", "24", [](auto& c) { c.quantizer.scale_bits = 24; }},
      {"QUANTIZER.POT_SCALE", "WA", "true", [](auto& c) { c.quantizer.pot_scale = true; }},
      {"QUANTIZER.RANGE", "WA", "[-64, 63]",
       [](auto& c) { c.quantizer.range = IntegerRange{-64, 63}; }},
      {"QUANTIZER.AVX2_SAFE", "W", "true", [](auto& c) { c.quantizer.avx2_safe = true; }},
      {"QUANTIZER.PACT.ALPHA_VALUE", "A", "6.5", [](auto& c) { c.quantizer.pact_alpha = 6.5; }},
      {"QUANTIZER.LSQ.GRAD_SCALING", "WA", "false",
       [](auto& c) { c.quantizer.lsq_grad_scaling = false; }},
      {"QUANTIZER.DSQ.ALPHA", "WA", "0.2", [](auto& c) { c.quantizer.dsq_alpha = 0.2; }},
      {"OBSERVER.TYPE", "WA", "MSE", [](auto& c) { c.observer.type = "mse"; }},
      {"OBSERVER.PERCENTILE.ALPHA", "WA", "0.5",
       [](auto& c) { c.observer.percentile_alpha = 0.5; }},
      {"OBSERVER.MOVING_AVERAGE.EMA_RATIO", "A", "1", [](auto& c) { c.observer.ema_ratio = 1; }},
      {"OBSERVER.ACIQ.DISTRIBUTION", "WA", "Laplace",
       [](auto& c) { c.observer.distribution = Distribution::Laplace; }},
      {"OBSERVER.LAYOUT", "A", "NLC", [](auto& c) { c.observer.layout = Layout::Nlc; }},
      {"OBSERVER.EMA_QUANTILE.THRESHOLD", "WA", "0.999",
       [](auto& c) { c.observer.quantile = 0.999; }},
      {"OBSERVER.EMA_QUANTILE.BINS", "WA", "512", [](auto& c) { c.observer.quantile_bins = 512; }},
      {"OBSERVER.CLIP_STD.STD_SCALE", "WA", "3", [](auto& c) { c.observer.std_scale = 3; }},
      {"OBSERVER.CLIP_STD.WIDEN", "WA", "true", [](auto& c) { c.observer.std_widens = true; }},
      {"OBSERVER.BATCH_MSE.P", "WA", "2.4", [](auto& c) { c.observer.error_exponent = 2.4; }},
      {"OBSERVER.NETWORK_INPUT", "A", "true", [](auto& c) { c.observer.network_input = true; }}};
  return cases;
}

/// Each key changes exactly one setting and is only accepted for tensors that have this setting.
TEST(ConfigKeys, EveryKeyHasItsSetting) {
  EXPECT_EQ(tensor_keys().size(), key_cases().size());
  for (const auto& [key, sides, value, change] : key_cases()) {
    SCOPED_TRACE(key);
    for (const auto& [target, side] : {std::pair{Target::Weight, 'W'}, {Target::Activation, 'A'}}) {
      TensorConfig config, expected;
      change(expected);
      const bool known = std::string(sides).find(side) != std::string::npos;
      const std::string error =
          error_in([&, target = target] { set(config, target, {{key, value}}); });
      EXPECT_EQ(error.find("there is no key") == std::string::npos, known) << error;
      EXPECT_EQ(config == expected, known);
    }
  }
}

TEST(ConfigKeys, MayBeInAnyCaseAndErrorsNameNearOnes) {
  TensorConfig config;
  set(config, Target::Weight, {{"quantizer.Bit", "4"}});
  EXPECT_EQ(config.quantizer.bits, 4);
  EXPECT_EQ(error_in([&] { set(config, Target::Activation, {{"OBSERVER.LAYOUTS", "nlc"}}); }),
            "q.yaml:1: there is no key 'OBSERVER.LAYOUTS' for activations; did you mean "
            "'OBSERVER.LAYOUT'?");
}

TEST(ConfigKeys, ARangeOfNothingIsThatOfTheBits) {
  TensorConfig config;
  set(config, Target::Weight, {{"QUANTIZER.RANGE", "[-64, 63]"}, {"QUANTIZER.RANGE", ""}});
  EXPECT_FALSE(config.quantizer.range);
}

TEST(ConfigKeys, ValuesThatThereAreNot) {
  const auto error = [](const char* key, const char* value) {
    TensorConfig config;
    return error_in([&] { set(config, Target::Weight, {{key, value}}); });
  };
  EXPECT_EQ(error("QUANTIZER.RANGE", "[1, 2, 3]"),
            "q.yaml:1: expected the lowest and the highest integer, [low, high], found 3 items");
  EXPECT_EQ(error("QUANTIZER.GROUP_SIZE", "-1"),
            "q.yaml:1: expected the group size, or 0 for no groups, found -1");
  for (const char* bits : {"-1", "25"})
    EXPECT_EQ(error("QUANTIZER.SCALE_BITS", bits),
              "q.yaml:1: expected the significant bits of scales, 1 to 24, or 0 for all, found " +
                  std::string(bits));
  for (const char* bins : {"1", "1000001"})
    EXPECT_EQ(error("OBSERVER.EMA_QUANTILE.BINS", bins),
              "q.yaml:1: expected 2 to 1000000 bins, found " + std::string(bins));
  EXPECT_EQ(error("OBSERVER.PERCENTILE.ALPHA", "0.6"),
            "q.yaml:1: expected a number from 0 to 0.5, found 0.6");
  EXPECT_THAT(error("OBSERVER.EMA_QUANTILE.THRESHOLD", "1.1"), HasSubstr("from 0 to 1,"));
  EXPECT_THAT(error("OBSERVER.CLIP_STD.STD_SCALE", "0"), HasSubstr("expected a number from"));
  EXPECT_THAT(error("OBSERVER.BATCH_MSE.P", "0.05"), HasSubstr("from 0.1 to 10,"));
  EXPECT_THAT(error("QUANTIZER.DSQ.ALPHA", "1"), HasSubstr("from 0.001 to 0.999,"));
  EXPECT_EQ(error("OBSERVER.ACIQ.DISTRIBUTION", "poisson"),
            "q.yaml:1: unknown value 'poisson'; known: gaus, gauss, laplace");
}

// --- compatible settings ------------------------------------------------------------------------

/// The error of a config of 8 bits, with per-channel symmetric weights or affine activations, after
/// some settings are changed. Positions in messages are the keys.
std::string error_of(Target target, const Settings& settings, const Platform& platform) {
  const bool weights = target == Target::Weight;
  TensorConfig config;
  set(config, target,
      {{"QSCHEME", weights ? "per-channel-symmetric" : "per-tensor-affine"},
       {"QUANTIZER.BIT", "8"}});
  set(config, target, settings);
  return error_in([&] {
    check_tensor_config(config, target, platform, [](const std::string& key) { return key; });
  });
}

std::string of_weights(const Settings& settings) {
  return error_of(Target::Weight, settings, {.name = "any"});
}
std::string of_activations(const Settings& settings) {
  return error_of(Target::Activation, settings, {.name = "any"});
}

const std::pair<std::string, std::string> kSymmetric = {"QSCHEME", "per-tensor-symmetric"},
                                          kPerChannel = {"QSCHEME", "per-channel-affine"};

TEST(ConfigKeys, SchemeAndBitsAreMandatory) {
  const auto error = [](const TensorConfig& config) {
    return error_in([&] {
      check_tensor_config(config, Target::Weight, {.name = "any"},
                          [](const std::string& key) { return "W" + key; });
    });
  };
  TensorConfig config;
  EXPECT_EQ(error(config), "W: QSCHEME is missing");
  config.scheme = QuantScheme{};
  EXPECT_EQ(error(config), "W: QUANTIZER.BIT is missing");
  config.quantizer.bits = 8;
  EXPECT_EQ(error(config), "");
}

TEST(ConfigKeys, RangesThatDoNotGoTogether) {
  EXPECT_EQ(of_activations({{"QUANTIZER.RANGE", "[7, 7]"}}),
            "QUANTIZER.RANGE: the lowest integer, 7, is not below the highest, 7");
  EXPECT_EQ(of_activations({{"QUANTIZER.RANGE", "[-1, 200]"}}),
            "QUANTIZER.RANGE: [-1, 200] is not within 8 bits: -128 to 127 or 0 to 255");
  EXPECT_EQ(of_activations({kSymmetric, {"QUANTIZER.RANGE", "[-10, 63]"}}),
            "QUANTIZER.RANGE: a symmetric QSCHEME needs integers from 0 to n, -n to n or -n - 1 to "
            "n, found -10 to 63");
  EXPECT_EQ(of_activations({{"QUANTIZER.RANGE", "[-10, 63]"}}), "");
  EXPECT_EQ(of_activations(
                {kSymmetric, {"QUANTIZER.RANGE", "[-64, 63]"}, {"QUANTIZER.RESTRICTED", "true"}}),
            "QUANTIZER.RESTRICTED: RESTRICTED cannot be combined with RANGE");
  EXPECT_EQ(of_weights({{"QUANTIZER.RANGE", "[0, 255]"}}),
            "QUANTIZER.RANGE: symmetric weights need negative integers");
  EXPECT_EQ(of_activations({kSymmetric, {"QUANTIZER.RANGE", "[0, 255]"}}), "");
}

TEST(ConfigKeys, ScalesThatDoNotGoTogether) {
  EXPECT_EQ(of_activations({{"QUANTIZER.POT_SCALE", "true"}, {"QUANTIZER.SCALE_BITS", "4"}}),
            "QUANTIZER.POT_SCALE: POT_SCALE and SCALE_BITS both round scales: set only one");
  for (const char* type : {"lsq", "lsq+", "pact"})
    EXPECT_EQ(of_activations({{"QUANTIZER.POT_SCALE", "true"}, {"QUANTIZER.TYPE", type}}),
              std::string("QUANTIZER.TYPE: ") + type +
                  " trains its scale, which does not stay a power of two: use another "
                  "TYPE with POT_SCALE");
  EXPECT_EQ(of_weights({kSymmetric, {"QUANTIZER.GROUP_SIZE", "4"}}),
            "QUANTIZER.GROUP_SIZE: GROUP_SIZE needs QSCHEME per-channel-...");
  EXPECT_EQ(of_weights({{"QUANTIZER.GROUP_SIZE", "4"}}), "");
  EXPECT_EQ(of_activations({{"QUANTIZER.RESTRICTED", "true"}}),
            "QUANTIZER.RESTRICTED: RESTRICTED needs a symmetric QSCHEME");
}

TEST(ConfigKeys, WhatQuantizersCannotDo) {
  const auto typed = [](const char* type) { return std::pair{"QUANTIZER.TYPE", type}; };
  EXPECT_EQ(of_activations({typed("adaround")}), "QUANTIZER.TYPE: adaround is for weights only");
  EXPECT_EQ(of_weights({typed("pact")}), "QUANTIZER.TYPE: pact is for activations only");
  EXPECT_EQ(of_activations({typed("pact"), kPerChannel}),
            "QUANTIZER.TYPE: pact has one scale per tensor: set QSCHEME per-tensor-...");
  EXPECT_EQ(of_activations({typed("lsq+"), kSymmetric}),
            "QUANTIZER.TYPE: lsq+ per tensor must be affine");
  EXPECT_EQ(of_activations({typed("lsq+"), kPerChannel}),
            "QUANTIZER.TYPE: lsq+ per channel must be symmetric");
  EXPECT_EQ(of_weights({typed("lsq+")}), "");
  EXPECT_EQ(of_activations({typed("tqt")}),
            "QUANTIZER.TYPE: tqt needs QSCHEME per-tensor-symmetric");
  const char* nnie =
      "QUANTIZER.TYPE: nnie needs QSCHEME per-tensor-symmetric and all integers of "
      "BIT 8";
  EXPECT_EQ(of_activations({typed("nnie")}), nnie);
  EXPECT_EQ(of_activations({typed("nnie"), kSymmetric, {"QUANTIZER.BIT", "7"}}), nnie);
  EXPECT_EQ(of_activations({typed("nnie"), kSymmetric, {"QUANTIZER.RANGE", "[-64, 63]"}}), nnie);
  EXPECT_EQ(of_activations({typed("nnie"), kSymmetric}), "");
}

TEST(ConfigKeys, WhatObserversCannotFind) {
  const auto typed = [](const char* type) { return std::pair{"OBSERVER.TYPE", type}; };
  EXPECT_EQ(of_weights({typed("moving_average")}),
            "OBSERVER.TYPE: moving_average is for activations only");
  for (const std::string type : {"ema_quantile", "min_max_floor", "pot_mode"})
    EXPECT_EQ(of_activations({typed(type.c_str()), kPerChannel}),
              "OBSERVER.TYPE: " + type + " has one range per tensor: set QSCHEME per-tensor-...");
  for (const std::string type : {"min_max_floor", "pot_mode"}) {
    const std::string expected =
        "OBSERVER.TYPE: " + type + " needs a symmetric QSCHEME with negative integers";
    EXPECT_EQ(of_activations({typed(type.c_str())}), expected);
    EXPECT_EQ(of_activations({typed(type.c_str()), kSymmetric, {"QUANTIZER.RANGE", "[0, 255]"}}),
              expected);
    EXPECT_EQ(of_activations({typed(type.c_str()), kSymmetric}), "");
  }
}

// --- limits of the platform ---------------------------------------------------------------------

TEST(ConfigKeys, PlatformsHaveLimits) {
  const auto error = [](const platforms::TensorLimits& limits, const Settings& settings) {
    return error_of(Target::Activation, settings, {.name = "chip", .activations = limits});
  };
  EXPECT_EQ(error({.bits = {4, 6}}, {}), "QUANTIZER.BIT: BACKEND chip supports 4 to 6 bits, not 8");
  EXPECT_EQ(error({.bits = {6}}, {}), "QUANTIZER.BIT: BACKEND chip supports 6 bits, not 8");
  EXPECT_EQ(error({.schemes = {"per-tensor-symmetric", "per-channel-symmetric"}}, {}),
            "QSCHEME: BACKEND chip needs per-tensor-symmetric");
  const char* powers =
      "QUANTIZER.POT_SCALE: BACKEND chip needs scales that are powers of two: POT_SCALE or TYPE "
      "tqt";
  EXPECT_EQ(error({.power_of_two = true}, {{"QUANTIZER.SCALE_BITS", "2"}}), powers);
  EXPECT_EQ(error({.power_of_two = true}, {{"QUANTIZER.SCALE_BITS", "1"}}), "");
  EXPECT_EQ(error({.power_of_two = true}, {{"QUANTIZER.POT_SCALE", "true"}}), "");
  EXPECT_EQ(error({.power_of_two = true}, {{"QUANTIZER.TYPE", "tqt"}, kSymmetric}), "");
  EXPECT_EQ(error({.unsupported_quantizers = {"dsq"}}, {{"QUANTIZER.TYPE", "dsq"}}),
            "QUANTIZER.TYPE: BACKEND chip does not support TYPE dsq");
  EXPECT_EQ(error({.signed_integers = true}, {kSymmetric, {"QUANTIZER.RANGE", "[0, 255]"}}),
            "QUANTIZER.RANGE: BACKEND chip needs signed integers, found 0 to 255");
  EXPECT_EQ(error({.full_range = true}, {{"QUANTIZER.RANGE", "[0, 200]"}}),
            "QUANTIZER.RANGE: BACKEND chip needs all integers of 8 bits, found 0 to 200");
  EXPECT_EQ(error({.full_range = true}, {{"QUANTIZER.RANGE", "[-128, 127]"}}), "");
}

/// The limit applies to BIT, RESTRICTED and RANGE alike.
TEST(ConfigKeys, IntegersOfThePlatformHoldThoseOfTheConfig) {
  const auto error = [](const Settings& settings) {
    return error_of(Target::Weight, settings, {.name = "chip", .weights = {.range = {-64, 63}}});
  };
  EXPECT_EQ(error({}),
            "QUANTIZER.RANGE: BACKEND chip needs a RANGE within [-64, 63], found -128 to 127");
  EXPECT_THAT(error({{"QUANTIZER.RESTRICTED", "true"}}), HasSubstr("found -127 to 127"));
  EXPECT_EQ(error({{"QUANTIZER.RANGE", "[-63, 63]"}}), "");
  EXPECT_EQ(error({{"QUANTIZER.BIT", "7"}}), "");
}

/// Weights and activations have separate limits; disabled quantizers have none.
TEST(ConfigKeys, LimitsAreThoseOfTheTensor) {
  const Platform chip{.name = "chip", .weights = {.bits = {4}, .groups = false}};
  EXPECT_THAT(error_of(Target::Weight, {}, chip), StartsWith("QUANTIZER.BIT: "));
  EXPECT_EQ(error_of(Target::Weight, {{"QUANTIZER.BIT", "4"}, {"QUANTIZER.GROUP_SIZE", "2"}}, chip),
            "QUANTIZER.GROUP_SIZE: BACKEND chip does not support GROUP_SIZE");
  EXPECT_EQ(error_of(Target::Activation, {}, chip), "");
  EXPECT_EQ(error_of(Target::Weight, {{"QUANTIZER.DISABLE", "true"}}, chip), "");
}

}  // namespace
}  // namespace sparsebit::quant::config_keys_test
