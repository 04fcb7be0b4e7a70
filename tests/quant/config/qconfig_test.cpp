#include "sparsebit/quant/config/qconfig.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace sparsebit::quant::qconfig_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmall = R"(
BACKEND: virtual
W:
  QSCHEME: per-channel-symmetric
  QUANTIZER:
    TYPE: uniform
    BIT: 8
A:
  QSCHEME: per-tensor-affine
  QUANTIZER:
    BIT: 8
)";

QConfig parse(const std::string& text) { return parse_qconfig(parse_yaml(text, "q.yaml")); }

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(QConfig, DefaultsOfTheAncestor) {
  const QConfig config = parse(kSmall);
  EXPECT_EQ(config.platform->name, "virtual");
  EXPECT_EQ(config.device, "cpu");
  EXPECT_FALSE(config.schedule.fuse_bn);
  EXPECT_FALSE(config.schedule.bn_tuning);
  EXPECT_TRUE(config.schedule.disable_unnecessary_quant);
  EXPECT_FALSE(config.quantize_add);
  EXPECT_EQ(config.weight.observer.type, "minmax");
  EXPECT_EQ(config.feature.observer.percentile_alpha, 0.001);
  EXPECT_EQ(config.feature.observer.ema_ratio, 0.9);
  EXPECT_EQ(config.feature.quantizer.pact_alpha, 10);
  EXPECT_EQ(config.feature.observer.layout, Layout::Nchw);
}

TEST(QConfig, EveryKey) {
  const QConfig config = parse(R"(
backend: Virtual
DEVICE: CPU
SKIP_TRACE_MODULES: ["blocks.*.drop_path"]
SCHEDULE: {FUSE_BN: true, BN_TUNING: true, DISABLE_UNNECESSARY_QUANT: false, FUSE_SCALE: false}
W:
  QSCHEME: per_channel_symmetric
  QUANTIZER: {TYPE: DoReFa, DISABLE: false, BIT: "8", GROUP_SIZE: 32, RESTRICTED: yes}
  OBSERVER: {TYPE: MSE, PERCENTILE: {ALPHA: 0}, ACIQ: {DISTRIBUTION: Laplace}}
A:
  QSCHEME: per-tensor-affine
  QUANTIZER: {TYPE: LSQ_plus, BIT: 8.0, PACT: {ALPHA_VALUE: 6.5}}
  OBSERVER:
    TYPE: MOVING_AVERAGE
    PERCENTILE: {ALPHA: 0.01}
    MOVING_AVERAGE: {EMA_RATIO: 1}
    ACIQ: {DISTRIBUTION: GAUS}
    LAYOUT: NLC
  QADD: {ENABLE_QUANT: true}
)");
  EXPECT_EQ(config.platform->name, "virtual");
  EXPECT_THAT(config.skip_trace_modules, ElementsAre("blocks.*.drop_path"));
  EXPECT_TRUE(config.schedule.fuse_bn && config.schedule.bn_tuning);
  EXPECT_FALSE(config.schedule.passes.at("fuse_scale"));
  EXPECT_EQ(config.weight.quantizer.type, "dorefa");
  EXPECT_EQ(config.weight.quantizer.bits, 8);
  EXPECT_EQ(config.weight.quantizer.group_size, 32);
  EXPECT_TRUE(config.weight.quantizer.restricted);
  EXPECT_EQ(config.weight.observer.distribution, Distribution::Laplace);
  EXPECT_EQ(config.feature.quantizer.type, "lsq+");
  EXPECT_EQ(config.feature.quantizer.pact_alpha, 6.5);
  EXPECT_EQ(config.feature.observer.type, "moving_average");
  EXPECT_EQ(config.feature.observer.layout, Layout::Nlc);
  EXPECT_TRUE(config.quantize_add);
}

/// Keys of what other toolkits have.
TEST(QConfig, RangesAndObserversOfBatches) {
  const QConfig config = parse(R"(
W:
  QSCHEME: per-tensor-symmetric
  QUANTIZER: {TYPE: dsq, BIT: 8, RANGE: [-64, 63], POT_SCALE: true, DSQ: {ALPHA: 0.2}}
  OBSERVER: {TYPE: clip_std, CLIP_STD: {STD_SCALE: 3, WIDEN: true}, BATCH_MSE: {P: 2.4}}
A:
  QSCHEME: per-tensor-symmetric
  QUANTIZER: {TYPE: tqt, BIT: 8}
  OBSERVER: {TYPE: pot_mode, EMA_QUANTILE: {THRESHOLD: 0.999, BINS: 512}, NETWORK_INPUT: true}
  SPECIFIC: [{"relu*": ["QUANTIZER.RANGE", [0, 255], "OBSERVER.TYPE", "lsq"]}]
)");
  EXPECT_EQ(config.weight.quantizer.range, (IntegerRange{-64, 63}));
  EXPECT_TRUE(config.weight.quantizer.pot_scale);
  EXPECT_EQ(config.weight.quantizer.dsq_alpha, 0.2);
  EXPECT_EQ(config.weight.observer.std_scale, 3);
  EXPECT_TRUE(config.weight.observer.std_widens);
  EXPECT_EQ(config.weight.observer.error_exponent, 2.4);
  EXPECT_EQ(config.feature.observer.quantile, 0.999);
  EXPECT_EQ(config.feature.observer.quantile_bins, 512);
  EXPECT_TRUE(config.feature.observer.network_input);
  const TensorConfig relu = config.of_layer(Target::Feature, {.path = "relu1", .name = "relu1"});
  EXPECT_EQ(relu.quantizer.range, (IntegerRange{0, 255}));
}

/// Each is put behind the keys of the weights or features, which have 8 bits.
TEST(QConfig, WhatDoesNotGoTogether) {
  const auto error = [](const std::string& scheme, const std::string& quantizer,
                        const std::string& observer, const std::string& backend = "virtual") {
    return error_of(
        "BACKEND: " + backend +
        "\nW: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}\nA: {QSCHEME: " + scheme +
        ", QUANTIZER: {BIT: 8" + quantizer + "}, OBSERVER: {" + observer + "}}\n");
  };
  const char *symmetric = "per-tensor-symmetric", *affine = "per-tensor-affine";
  EXPECT_EQ(
      error(affine, ", RANGE: [1, 2, 3]", ""),
      "q.yaml:3: A.QUANTIZER.RANGE: expected the lowest and the highest integer, [low, high], "
      "found 3 items");
  EXPECT_EQ(error(affine, ", RANGE: [7, 7]", ""),
            "q.yaml:3: A.QUANTIZER.RANGE: the lowest integer, 7, is not below the highest, 7");
  EXPECT_EQ(error(affine, ", RANGE: [-1, 200]", ""),
            "q.yaml:3: A.QUANTIZER.RANGE: [-1, 200] is not within 8 bits: -128 to 127 or 0 to 255");
  EXPECT_EQ(error(symmetric, ", RANGE: [-10, 63]", ""),
            "q.yaml:3: A.QUANTIZER.RANGE: a symmetric QSCHEME has integers from 0 to n, -n to n or "
            "-n - 1 to n, not -10 to 63");
  EXPECT_EQ(error(symmetric, ", RANGE: [-64, 63], RESTRICTED: true", ""),
            "q.yaml:3: A.QUANTIZER.RESTRICTED: RESTRICTED does not go with RANGE, which says all");
  EXPECT_EQ(error(affine, ", POT_SCALE: true, SCALE_BITS: 4", ""),
            "q.yaml:3: A.QUANTIZER.POT_SCALE: POT_SCALE and SCALE_BITS are two ways of rounding "
            "scales: choose one");
  EXPECT_EQ(error(affine, ", POT_SCALE: true, TYPE: lsq", ""),
            "q.yaml:3: A.QUANTIZER.TYPE: lsq trains its scale, which does not stay a power of two: "
            "POT_SCALE needs another");
  EXPECT_EQ(error(affine, ", TYPE: tqt", ""),
            "q.yaml:3: A.QUANTIZER.TYPE: tqt needs QSCHEME per-tensor-symmetric");
  EXPECT_EQ(error(affine, ", TYPE: nnie", ""),
            "q.yaml:3: A.QUANTIZER.TYPE: nnie needs QSCHEME per-tensor-symmetric and all integers "
            "of BIT 8");
  EXPECT_EQ(error("per-channel-affine", "", "TYPE: ema_quantile"),
            "q.yaml:3: A.OBSERVER.TYPE: ema_quantile has one range per tensor: QSCHEME "
            "per-tensor-...");
  EXPECT_EQ(error(affine, "", "TYPE: pot_mode"),
            "q.yaml:3: A.OBSERVER.TYPE: pot_mode needs a symmetric QSCHEME with negative integers");
  EXPECT_EQ(error(affine, "", "EMA_QUANTILE: {BINS: 1}"),
            "q.yaml:3: A.OBSERVER.EMA_QUANTILE.BINS: expected 2 to 1000000 bins, found 1");
  EXPECT_EQ(error(affine, ", RANGE: [0, 200]", "", "onnxruntime"),
            "q.yaml:3: A.QUANTIZER.RANGE: BACKEND onnxruntime uses all integers of 8 bits");
  EXPECT_EQ(error(symmetric, ", TYPE: nnie", "", "onnxruntime"),
            "q.yaml:3: A.QUANTIZER.TYPE: BACKEND onnxruntime cannot compute what nnie simulates");
  EXPECT_EQ(error(symmetric, ", TYPE: tqt", "", "tensorrt"),
            "q.yaml:3: A.QUANTIZER.TYPE: BACKEND tensorrt cannot compute what tqt simulates");
  EXPECT_EQ(error(symmetric, ", RANGE: [0, 255]", "", "tensorrt"),
            "q.yaml:3: A.QUANTIZER.RANGE: BACKEND tensorrt has signed integers");
  EXPECT_EQ(error(symmetric, ", RANGE: [0, 255]", "", "onnxruntime"), "");
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, RANGE: [0, 255]}}\n"
                     "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n"),
            "q.yaml:1: W.QUANTIZER.RANGE: weights that are symmetric need negative integers");
}

struct WrongConfig {
  const char* line;
  const char* message;
};

/// Each line is put in the place of one of the small config that begins alike.
TEST(QConfig, ErrorsNameLineKeyAndWhatWouldBeRight) {
  const std::vector<WrongConfig> cases = {
      {"BACKEND: tensorflow", "q.yaml:2: BACKEND: unknown platform 'tensorflow'; 18 are known"},
      {"BACKENDS: virtual",
       "q.yaml:2: BACKENDS: there is no key 'BACKENDS'; did you mean 'BACKEND'?"},
      {"  QSCHEME: per-chanel-symmetric",
       "q.yaml:4: W.QSCHEME: unknown scheme 'per-chanel-symmetric'; did you mean "
       "'per-channel-symmetric'"},
      {"    TYPE: uniformly",
       "q.yaml:6: W.QUANTIZER.TYPE: there is no 'uniformly'; did you mean 'uniform'?"},
      {"    BIT: many", "q.yaml:7: W.QUANTIZER.BIT: expected a whole number, found 'many'"},
      {"    BIT: 17", "q.yaml:7: W.QUANTIZER.BIT: expected 2 to 16 bits, found 17"},
      {"    BIT: 0",
       "q.yaml:7: W.QUANTIZER.BIT: expected 2 to 16 bits, found 0; to leave something in float, "
       "set "
       "QUANTIZER.DISABLE"},
      {"    BITS: 8",
       "q.yaml:7: W.QUANTIZER.BITS: there is no key 'QUANTIZER.BITS' for weights; did you mean "
       "'QUANTIZER.BIT'"},
      {"    TYPE: pact", "q.yaml:6: W.QUANTIZER.TYPE: pact is for features only"},
      {"BACKEND: tensorrt", "q.yaml:9: A.QSCHEME: BACKEND tensorrt needs per-tensor-symmetric"},
  };
  for (const auto& [line, message] : cases) {
    std::string text = kSmall;
    const std::string key = std::string(line).substr(0, std::string(line).find_first_of(":S", 4));
    const size_t begin = text.find("\n" + key.substr(0, 7)) + 1;
    ASSERT_NE(begin, 0u) << line;
    text.replace(begin, text.find('\n', begin) - begin, line);
    EXPECT_THAT(error_of(text), testing::StartsWith(message)) << text;
  }
}

TEST(QConfig, WhatIsMandatory) {
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n"),
            "q.yaml:1: A: QSCHEME is missing");
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-affine}\n"), "q.yaml:1: W: QUANTIZER.BIT is missing");
  EXPECT_THAT(error_of(""), HasSubstr("expected a config (W: ..., A: ...), found nothing"));
}

TEST(QConfig, KeysThatDifferInCaseOnlyAreOne) {
  EXPECT_EQ(error_of("W: {QSCHEME: per-channel-symmetric, qscheme: per-tensor-affine}\n"),
            "q.yaml:1: W.qscheme: 'W.QSCHEME' is told twice");
  EXPECT_EQ(error_of("Backend: virtual\nBACKEND: virtual\n"),
            "q.yaml:2: BACKEND: 'BACKEND' is told twice");
}

/// The second element needs what the first one set.
TEST(QConfig, RulesMayBuildOnEachOther) {
  const QConfig config = parse_qconfig(parse_yaml(R"(
W:
  QSCHEME: per-tensor-symmetric
  QUANTIZER: {BIT: 8}
  SPECIFIC:
    - "*": ["QSCHEME", "per-channel-symmetric"]
    - "conv1": ["QUANTIZER.GROUP_SIZE", 4]
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)",
                                                  "q.yaml"));
  const TensorConfig conv1 = config.of_layer(Target::Weight, {.path = "conv1", .name = "conv1"});
  EXPECT_EQ(conv1.quantizer.group_size, 4);
  EXPECT_EQ(conv1.scheme->granularity, Granularity::PerChannel);
}

/// The configs of the ancestor's published results.
TEST(QConfig, TheExamplesAreRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPARSEBIT_EXAMPLE_CONFIGS)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    EXPECT_NO_THROW(parse_qconfig(entry.path()));
    ++count;
  }
  EXPECT_EQ(count, 15);
}

// --- SPECIFIC -----------------------------------------------------------------------------------

const std::string kSpecific = std::string(kSmall) + R"(
  SPECIFIC:
    - "layer1.*": ["QUANTIZER.BIT", 4]
      "layer1_0_conv1": ["QUANTIZER.BIT", 6]
    - "*conv1": ["OBSERVER.TYPE", "MSE", "QUANTIZER.DISABLE", true]
)";

TEST(QConfig, TheFirstMatchOfEachElementApplies) {
  const QConfig config = parse(kSpecific);
  std::vector<const SpecificRule*> used;
  const TensorConfig conv =
      config.of_layer(Target::Feature, {.path = "layer1.0.conv1", .name = "layer1_0_conv1"}, &used);
  EXPECT_EQ(conv.quantizer.bits, 4);
  EXPECT_EQ(conv.observer.type, "mse");
  EXPECT_TRUE(conv.quantizer.disable);
  ASSERT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0]->pattern, "layer1.*");
  const TensorConfig other = config.of_layer(Target::Feature, {.path = "fc", .name = "fc"});
  EXPECT_EQ(other, config.feature);
  EXPECT_EQ(config.of_layer(Target::Weight, {.path = "layer1.0.conv1", .name = "layer1_0_conv1"}),
            config.weight);
}

TEST(QConfig, RulesAreCheckedWithTheRest) {
  const std::string base = std::string(kSmall) + "  SPECIFIC: [{'fc': [";
  EXPECT_EQ(error_of(base + "'QUANTIZER.BIT']}]\n"),
            "q.yaml:12: A.SPECIFIC[0].fc: expected keys and values in turn, [KEY, value, KEY, "
            "value], found 1 items");
  EXPECT_THAT(error_of(base + "'QUANTIZER.BIT', 40]}]\n"),
              HasSubstr("A.SPECIFIC[0].fc[1]: expected 2 to 16 bits, found 40"));
  EXPECT_THAT(error_of(base + "'QUANTIZER.TYPE', adaround]}]\n"),
              HasSubstr("A.SPECIFIC[0].fc: adaround is for weights only"));
  EXPECT_THAT(
      error_of(base + "'OBSERVER.TIPE', mse]}]\n"),
      HasSubstr("there is no key 'OBSERVER.TIPE' for features; did you mean 'OBSERVER.TYPE'"));
}

}  // namespace
}  // namespace sparsebit::quant::qconfig_test
