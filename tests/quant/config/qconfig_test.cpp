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

TEST(QConfig, DefaultsOfThePythonSparsebit) {
  const QConfig config = parse(kSmall);
  EXPECT_EQ(config.platform->name, "virtual");
  EXPECT_EQ(config.device, "cpu");
  EXPECT_FALSE(config.schedule.fuse_bn);
  EXPECT_FALSE(config.schedule.bn_tuning);
  EXPECT_TRUE(config.schedule.disable_unnecessary_quant);
  EXPECT_FALSE(config.quantize_add);
  EXPECT_EQ(config.weight.observer.type, "minmax");
  EXPECT_EQ(config.activation.observer.percentile_alpha, 0.001);
  EXPECT_EQ(config.activation.observer.ema_ratio, 0.9);
  EXPECT_EQ(config.activation.quantizer.pact_alpha, 10);
  EXPECT_EQ(config.activation.observer.layout, Layout::Nchw);
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
  EXPECT_EQ(config.activation.quantizer.type, "lsq+");
  EXPECT_EQ(config.activation.quantizer.pact_alpha, 6.5);
  EXPECT_EQ(config.activation.observer.type, "moving_average");
  EXPECT_EQ(config.activation.observer.layout, Layout::Nlc);
  EXPECT_TRUE(config.quantize_add);
}

/// Settings that a runtime does not support. `activations` is the text of A after `QSCHEME:`.
TEST(QConfig, BackendsHaveTheirLimits) {
  const auto error = [](const char* backend, const std::string& features) {
    return error_of(std::string("BACKEND: ") + backend +
                    "\nW: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}\nA: {QSCHEME: " +
                    features + "}}\n");
  };
  EXPECT_EQ(error("onnxruntime", "per-tensor-affine, QUANTIZER: {BIT: 8, RANGE: [0, 200]"),
            "q.yaml:3: A.QUANTIZER.RANGE: BACKEND onnxruntime needs all integers of 8 bits, found "
            "0 to 200");
  EXPECT_EQ(error("onnxruntime", "per-tensor-symmetric, QUANTIZER: {BIT: 8, TYPE: nnie"),
            "q.yaml:3: A.QUANTIZER.TYPE: BACKEND onnxruntime does not support TYPE nnie");
  EXPECT_EQ(error("tensorrt", "per-tensor-symmetric, QUANTIZER: {BIT: 8, TYPE: tqt"),
            "q.yaml:3: A.QUANTIZER.TYPE: BACKEND tensorrt does not support TYPE tqt");
  EXPECT_EQ(error("tensorrt", "per-tensor-symmetric, QUANTIZER: {BIT: 8, RANGE: [0, 255]"),
            "q.yaml:3: A.QUANTIZER.RANGE: BACKEND tensorrt needs signed integers, found 0 to 255");
  EXPECT_EQ(error("onnxruntime", "per-tensor-symmetric, QUANTIZER: {BIT: 8, RANGE: [0, 255]"), "");
}

TEST(QConfig, ThatOfAPlatformByName) {
  const QConfig config = default_qconfig("onnxruntime");
  const QConfig same = default_qconfig(platforms::find_platform("onnxruntime"));
  EXPECT_EQ(config.platform->name, "onnxruntime");
  EXPECT_EQ(config.weight, same.weight);
  EXPECT_EQ(config.activation, same.activation);
  EXPECT_THAT([] { default_qconfig("onnxruntim"); },
              testing::ThrowsMessage<Error>(HasSubstr("did you mean 'onnxruntime'")));
}

struct WrongConfig {
  const char* line;
  const char* message;
};

/// Each line replaces the line of the small config that begins with the same characters.
TEST(QConfig, ErrorsNameLineKeyAndWhatWouldBeRight) {
  const std::vector<WrongConfig> cases = {
      {"BACKEND: tensorflow", "q.yaml:2: BACKEND: unknown platform 'tensorflow'; 18 are known"},
      {"BACKEND: ort", "q.yaml:2: BACKEND: unknown platform 'ort'; did you mean 'onnxruntime'?"},
      {"BACKENDS: virtual",
       "q.yaml:2: BACKENDS: there is no key 'BACKENDS'; did you mean 'BACKEND'?"},
      {"  QSCHEME: per-chanel-symmetric",
       "q.yaml:4: W.QSCHEME: unknown scheme 'per-chanel-symmetric'; did you mean "
       "'per-channel-symmetric'"},
      {"    TYPE: uniformly",
       "q.yaml:6: W.QUANTIZER.TYPE: unknown value 'uniformly'; did you mean 'uniform'?"},
      {"    BIT: many", "q.yaml:7: W.QUANTIZER.BIT: expected a whole number, found 'many'"},
      {"    BIT: 17", "q.yaml:7: W.QUANTIZER.BIT: expected 2 to 16 bits, found 17"},
      {"    BIT: 0",
       "q.yaml:7: W.QUANTIZER.BIT: expected 2 to 16 bits, found 0; to keep a tensor in float, set "
       "QUANTIZER.DISABLE"},
      {"    BITS: 8",
       "q.yaml:7: W.QUANTIZER.BITS: there is no key 'QUANTIZER.BITS' for weights; did you mean "
       "'QUANTIZER.BIT'"},
      {"    TYPE: pact", "q.yaml:6: W.QUANTIZER.TYPE: pact is for activations only"},
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

TEST(QConfig, SectionsWithTypingErrorsAreSuggested) {
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-affine, OBSERVR: {TYPE: minmax}}\n"),
            "q.yaml:1: W.OBSERVR: there is no key 'OBSERVR' for weights; did you mean 'OBSERVER'?");
  EXPECT_EQ(error_of("W: {OBSERVER: {PERCENTIL: {ALPHA: 0.1}}}\n"),
            "q.yaml:1: W.OBSERVER.PERCENTIL: there is no key 'OBSERVER.PERCENTIL' for weights; did "
            "you mean 'OBSERVER.PERCENTILE'?");
}

TEST(QConfig, WhatIsMandatory) {
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n"),
            "q.yaml:1: A: QSCHEME is missing");
  EXPECT_EQ(error_of("W: {QSCHEME: per-tensor-affine}\n"), "q.yaml:1: W: QUANTIZER.BIT is missing");
  EXPECT_EQ(error_of(""), "q.yaml: expected a config (W: ..., A: ...), found nothing");
  EXPECT_EQ(error_of("name: x\noperators: {}"),
            "q.yaml:1: this is a platform, not a quantization config; the command takes it with "
            "--platform");
}

TEST(QConfig, KeysThatDifferInCaseOnlyAreOne) {
  EXPECT_EQ(error_of("W: {QSCHEME: per-channel-symmetric, qscheme: per-tensor-affine}\n"),
            "q.yaml:1: W.qscheme: duplicate key 'W.QSCHEME'");
  EXPECT_EQ(error_of("Backend: virtual\nBACKEND: virtual\n"),
            "q.yaml:2: BACKEND: duplicate key 'BACKEND'");
}

/// The second element of SPECIFIC needs a setting of the first one.
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

/// The value of RANGE is a list inside the list of keys and values.
TEST(QConfig, RulesMaySetRanges) {
  const QConfig config = parse(std::string(kSmall) + R"(
  SPECIFIC: [{"relu*": ["QUANTIZER.RANGE", [0, 15], "QUANTIZER.BIT", 4]}]
)");
  const TensorConfig relu = config.of_layer(Target::Activation, {.path = "relu1", .name = "relu1"});
  EXPECT_EQ(relu.quantizer.range, (IntegerRange{0, 15}));
  EXPECT_EQ(relu.quantizer.bits, 4);
}

/// The configs of the published results of the Python Sparsebit.
TEST(QConfig, TheExamplesAreRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPARSEBIT_EXAMPLE_CONFIGS)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    EXPECT_NO_THROW(parse_qconfig(entry.path()));
    ++count;
  }
  EXPECT_EQ(count, 17);
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
  const TensorConfig conv = config.of_layer(
      Target::Activation, {.path = "layer1.0.conv1", .name = "layer1_0_conv1"}, &used);
  EXPECT_EQ(conv.quantizer.bits, 4);
  EXPECT_EQ(conv.observer.type, "mse");
  EXPECT_TRUE(conv.quantizer.disable);
  ASSERT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0]->pattern, "layer1.*");
  const TensorConfig other = config.of_layer(Target::Activation, {.path = "fc", .name = "fc"});
  EXPECT_EQ(other, config.activation);
  EXPECT_EQ(config.of_layer(Target::Weight, {.path = "layer1.0.conv1", .name = "layer1_0_conv1"}),
            config.weight);
}

TEST(QConfig, RulesAreCheckedWithTheRest) {
  const std::string base = std::string(kSmall) + "  SPECIFIC: [{'fc': [";
  EXPECT_EQ(error_of(base + "'QUANTIZER.BIT']}]\n"),
            "q.yaml:12: A.SPECIFIC[0].fc: expected alternating keys and values, [KEY, value, KEY, "
            "value], found 1 items");
  EXPECT_THAT(error_of(base + "'QUANTIZER.BIT', 40]}]\n"),
              HasSubstr("A.SPECIFIC[0].fc[1]: expected 2 to 16 bits, found 40"));
  EXPECT_THAT(error_of(base + "'QUANTIZER.TYPE', adaround]}]\n"),
              HasSubstr("A.SPECIFIC[0].fc: adaround is for weights only"));
  EXPECT_THAT(
      error_of(base + "'OBSERVER.TIPE', mse]}]\n"),
      HasSubstr("there is no key 'OBSERVER.TIPE' for activations; did you mean 'OBSERVER.TYPE'"));
}

}  // namespace
}  // namespace sparsebit::quant::qconfig_test
