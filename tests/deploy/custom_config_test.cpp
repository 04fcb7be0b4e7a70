#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/deploy/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::custom_config_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// Matches a setting by key and value, ignoring its line.
auto Is(const std::string& key, const std::string& value) {
  return testing::FieldsAre(key, value, HasSubstr("c.yaml:"));
}

CustomConfig parse(const std::string& text) {
  return parse_custom_config(parse_yaml(text, "c.yaml"));
}

TEST(CustomConfig, ReadsTheSettingsOfMqbench) {
  const CustomConfig config = parse(R"(
extra_qconfig_dict:
  w_observer: MSEObserver
  a_observer: EMAQuantileObserver
  w_fakequantize: AdaRoundFakeQuantize
  w_qscheme: {bit: 4, symmetry: false, per_channel: true, pot_scale: false, p: 2.4}
  a_qscheme: {bit: 8, symmetry: true, per_channel: false, symmetric_range: true}
  a_observer_extra_args: {threshold: 0.999, bins: 512, ema_ratio: 0.8}
  w_observer_extra_args: {std_scale: 3}
)");
  EXPECT_THAT(
      config.weights,
      UnorderedElementsAre(Is("OBSERVER.TYPE", "batch_mse"), Is("QUANTIZER.TYPE", "adaround"),
                           Is("QUANTIZER.BIT", "4"), Is("QUANTIZER.POT_SCALE", "false"),
                           Is("OBSERVER.BATCH_MSE.P", "2.4"), Is("QSCHEME", "per-channel-affine"),
                           Is("OBSERVER.CLIP_STD.STD_SCALE", "3")));
  EXPECT_THAT(config.activations,
              UnorderedElementsAre(Is("OBSERVER.TYPE", "ema_quantile"), Is("QUANTIZER.BIT", "8"),
                                   Is("QUANTIZER.RESTRICTED", "true"),
                                   Is("QSCHEME", "per-tensor-symmetric"),
                                   Is("OBSERVER.EMA_QUANTILE.THRESHOLD", "0.999"),
                                   Is("OBSERVER.EMA_QUANTILE.BINS", "512"),
                                   Is("OBSERVER.MOVING_AVERAGE.EMA_RATIO", "0.8")));
}

/// Names of this library are accepted, too.
TEST(CustomConfig, NamesOfMqbenchsObserversAndQuantizers) {
  const auto read_as = [](const char* key, const char* name) {
    const CustomConfig config =
        parse(std::string("extra_qconfig_dict: {a_") + key + ": " + name + "}");
    EXPECT_THAT(config.weights, IsEmpty());
    return config.activations.at(0).value;
  };
  for (const auto& [name, ours] : {std::pair{"MinMaxObserver", "minmax"},
                                   {"EMAMinMaxObserver", "moving_average"},
                                   {"MinMaxFloorObserver", "min_max_floor"},
                                   {"PoTModeObserver", "pot_mode"},
                                   {"EMAQuantileObserver", "ema_quantile"},
                                   {"ClipStdObserver", "clip_std"},
                                   {"LSQObserver", "lsq"},
                                   {"MSEObserver", "batch_mse"},
                                   {"EMAMSEObserver", "ema_mse"},
                                   {"mse", "mse"}})
    EXPECT_EQ(read_as("observer", name), ours);
  for (const auto& [name, ours] : {std::pair{"FixedFakeQuantize", "uniform"},
                                   {"LearnableFakeQuantize", "lsq"},
                                   {"NNIEFakeQuantize", "nnie"},
                                   {"DoReFaFakeQuantize", "dorefa"},
                                   {"DSQFakeQuantize", "dsq"},
                                   {"PACTFakeQuantize", "pact"},
                                   {"TqtFakeQuantize", "tqt"},
                                   {"AdaRoundFakeQuantize", "adaround"},
                                   {"lsq+", "lsq+"}})
    EXPECT_EQ(read_as("fakequantize", name), ours);
}

/// The order of the keys does not matter.
TEST(CustomConfig, ArgumentsBelongToTheirQuantizer) {
  const auto settings = [](const char* type) {
    return parse(std::string("extra_qconfig_dict: {a_fakeq_params: {alpha: 0.3}, ") +
                 "w_fakequantize: DSQFakeQuantize, a_fakequantize: " + type + "}")
        .activations;
  };
  EXPECT_THAT(settings("DSQFakeQuantize"), Contains(Is("QUANTIZER.DSQ.ALPHA", "0.3")));
  EXPECT_THAT(settings("PACTFakeQuantize"), Contains(Is("QUANTIZER.PACT.ALPHA_VALUE", "0.3")));
}

TEST(CustomConfig, SelectsOperatorsModulesAndNodes) {
  const CustomConfig config = parse(R"(
extra_quantizer_dict:
  additional_function_type: [torch.tanh]
  additional_module_type: [torch.nn.Sigmoid]
  additional_node_name: [add_1]
  exclude_module_name: [head.conv]
  exclude_function_type: [torch.cat, torch.add]
  exclude_node_name: [mul]
  academic_mode: true
)");
  EXPECT_THAT(config.selection.additional_operators, ElementsAre("torch.tanh", "torch.nn.Sigmoid"));
  EXPECT_THAT(config.selection.additional_nodes, ElementsAre("add_1"));
  EXPECT_THAT(config.selection.excluded_modules, ElementsAre("head.conv"));
  EXPECT_THAT(config.selection.excluded_operators, ElementsAre("torch.cat", "torch.add"));
  EXPECT_THAT(config.selection.excluded_nodes, ElementsAre("mul"));
  EXPECT_TRUE(config.academic_mode);
}

TEST(CustomConfig, SaysHowToTraceAndFuse) {
  const CustomConfig config = parse(R"(
extra_fuse_dict: {additional_fusion_pattern: [fuse_scale, fold_constants]}
preserve_attr: {"": [note, version], head: [anchors]}
leaf_module: [Head]
concrete_args: {mask: null, training: false, size: [2, 3], mode: same, ratio: 0.5, width: "3", least: -inf}
)");
  EXPECT_THAT(config.extra_passes, ElementsAre("fuse_scale", "fold_constants"));
  EXPECT_THAT(config.trace.preserve, ElementsAre(Pair("", ElementsAre("note", "version")),
                                                 Pair("head", ElementsAre("anchors"))));
  EXPECT_THAT(config.leaf_modules, ElementsAre("Head"));
  const auto& arguments = config.trace.concrete_args;
  EXPECT_EQ(arguments.size(), 7u);
  EXPECT_TRUE(arguments.at("mask").is_none());
  EXPECT_EQ(arguments.at("size"), fx::Value(fx::List{2, 3}));
  EXPECT_EQ(arguments.at("mode"), fx::Value("same"));
  EXPECT_EQ(arguments.at("ratio"), fx::Value(0.5));
  EXPECT_EQ(arguments.at("width"), fx::Value("3"));
  EXPECT_EQ(arguments.at("least"), fx::Value("-inf"));
  EXPECT_EQ(arguments.at("training"), fx::Value(false));
}

TEST(CustomConfig, ErrorsNameTheLineAndNearKeys) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      parse(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("extra_qconfig_dic: {}"),
              HasSubstr("c.yaml:1: extra_qconfig_dic: there is no key 'extra_qconfig_dic'; did you "
                        "mean 'extra_qconfig_dict'"));
  const auto error_in = [&](const char* line) {
    return error_of((std::string("extra_qconfig_dict:\n  ") + line).c_str());
  };
  EXPECT_THAT(error_in("w_observr: MinMaxObserver"),
              HasSubstr("c.yaml:2: extra_qconfig_dict.w_observr: there is no key 'w_observr'; did "
                        "you mean 'w_observer'"));
  EXPECT_THAT(error_in("b_observer: MinMaxObserver"), HasSubstr("there is no key 'b_observer'"));
  EXPECT_THAT(error_in("w_qscheme: {bits: 8}"), HasSubstr("'bits'; did you mean 'bit'?"));
  EXPECT_THAT(error_in("w_observer_extra_args: {bin: 8}"),
              HasSubstr("'bin'; did you mean 'bins'?"));
  EXPECT_THAT(error_in("a_fakeq_params: {alfa: 8}"), HasSubstr("there is no key 'alfa'"));
  EXPECT_THAT(error_of("extra_quantizer_dict:\n  exclude_module: [a]"),
              HasSubstr("c.yaml:2: extra_quantizer_dict.exclude_module: there is no key"));
  EXPECT_THAT(error_of("extra_fuse_dict: {additional_qat_module_mapping: []}"),
              HasSubstr("there is no key 'additional_qat_module_mapping'"));
}

}  // namespace
}  // namespace sparsebit::deploy::custom_config_test
