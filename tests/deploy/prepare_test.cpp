#include "sparsebit/deploy/prepare.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/quantizer_states.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::deploy::prepare_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

std::set<std::string> values(const quant::QuantModel& model) {
  std::set<std::string> names;
  for (const quant::QuantPoint& point : model.points()) names.insert(point.value);
  return names;
}

/// One layer of each kind that MQBench quantized only in part, in a form that it did not support.
class Mixed : public nn::Module {
 public:
  Mixed() : Module("Mixed", "x") {
    add_module("conv1d", nn::Conv1d(4, 4, 1));
    add_parameter("weight", at::randn({4, 4, 1}));
    add_parameter("table", at::randn({8, 8}));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value a = call("conv1d", in["x"]);
    const nn::Value b = fx::call_function("torch.nn.functional.conv1d", {a, parameter("weight")});
    const nn::Value c = fx::call_function("torch.nn.functional.linear", {b, parameter("table")});
    const nn::Value d = fx::call_function("torch.add", {c, a});
    return fx::call_function("operator.matmul", {d, nn::transpose(c, -2, -1)});
  }
};

TEST(PrepareByPlatform, WeightsAndActivationsInEveryForm) {
  Mixed model;
  const quant::QuantModel prepared =
      prepare_by_platform(model, "tensorrt", {}, {at::randn({1, 4, 8})});
  for (const char* layer : {"conv1d", "conv1d_1", "linear"}) {
    EXPECT_TRUE(prepared.layer(layer).has_weight_quantizer()) << layer;
    EXPECT_EQ(prepared.layer(layer).input_quantizers().size(), 1u) << layer;
  }
  EXPECT_EQ(prepared.layer("add").input_quantizers().size(), 2u);
  EXPECT_EQ(prepared.layer("matmul").input_quantizers().size(), 2u);
}

class Head : public nn::Cloneable<Head> {
 public:
  Head() : Cloneable("Head", "x") { add_module("conv", nn::Conv2d(4, 4, 1)); }
  nn::Value forward(const nn::Args& in) override { return call("conv", in["x"]); }
};

/// conv -> head.conv -> sigmoid; the first layer is called twice
class Nested : public nn::Module {
 public:
  Nested() : Module("Nested", "x") {
    add_module("conv", nn::Conv2d(4, 4, 1));
    add_module("head", std::make_shared<Head>());
    add_module("gate", nn::Sigmoid());
  }
  nn::Value forward(const nn::Args& in) override {
    return call("conv", call("gate", call("head", call("conv", in["x"]))));
  }
};

quant::QuantModel nested(const CustomConfig& custom = {}) {
  Nested model;
  return prepare_by_platform(model, "qdq", custom, {at::randn({1, 4, 4, 4})});
}

/// Modules are excluded by their full dotted path; that applies to weight and input.
TEST(PrepareByPlatform, ExcludedModulesAreNamedByTheirPath) {
  const auto all = values(nested());
  EXPECT_THAT(all, Contains("head.conv.weight"));
  const auto without = values(nested({.selection = {.excluded_modules = {"head.conv"}}}));
  EXPECT_THAT(without, Not(Contains("head.conv.weight")));
  EXPECT_THAT(without, Contains("conv.weight"));
  EXPECT_THAT(without, Not(Contains("conv")));  // only the excluded layer reads it
  const auto first = values(nested({.selection = {.excluded_modules = {"conv"}}}));
  EXPECT_THAT(first, Contains("head.conv.weight"));
  EXPECT_THAT(first, Not(Contains("conv.weight")));
}

TEST(PrepareByPlatform, NodesAndOperatorsCanBeAddedAndExcluded) {
  EXPECT_THAT(values(nested()), Not(Contains("head_conv")));
  EXPECT_THAT(values(nested({.selection = {.additional_operators = {"torch.nn.Sigmoid"}}})),
              Contains("head_conv"));
  EXPECT_THAT(values(nested({.selection = {.additional_nodes = {"gate"}}})), Contains("head_conv"));
  EXPECT_THAT(values(nested({.selection = {.excluded_operators = {"torch.nn.functional.conv2d"}}})),
              UnorderedElementsAre());
  EXPECT_THAT(values(nested({.selection = {.excluded_nodes = {"conv_1"}}})), Not(Contains("gate")));
  EXPECT_THAT(
      values(nested({.selection = {.additional_nodes = {"conv_1"}, .excluded_nodes = {"conv_1"}}})),
      Contains("gate"));
}

TEST(PrepareByPlatform, SharedModulesStayShared) {
  const quant::QuantModel model = nested();
  int quantizers = 0;
  for (const quant::QuantPoint& point : model.points()) {
    if (point.value != "conv.weight") continue;
    ++quantizers;
    EXPECT_EQ(point.consumers.size(), 2u);
  }
  EXPECT_EQ(quantizers, 1);
}

/// x -> 2 x, a user-defined module.
class Doubled : public nn::Cloneable<Doubled> {
 public:
  Doubled() : Cloneable("Doubled", "x") {}
  nn::Value forward(const nn::Args& in) override { return in["x"] * 2.0; }
};

TEST(PrepareByPlatform, ModulesAreMapped) {
  int made = 0;
  CustomConfig custom;
  custom.module_mapping["torch.nn.Sigmoid"] = [&](const fx::Module&) {
    ++made;
    return std::make_shared<Doubled>();
  };
  custom.selection.additional_operators = {"Doubled"};
  quant::QuantModel model = nested(custom);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(model.module().find("gate")->type(), "Doubled");
  EXPECT_THAT(values(model), Contains("head_conv"));
  custom.module_mapping["torch.nn.Tanh"] = custom.module_mapping["torch.nn.Sigmoid"];
  EXPECT_THAT([&] { nested(custom); },
              ThrowsMessage<Error>(HasSubstr("no module of type 'torch.nn.Tanh' is called")));
}

TEST(PrepareByPlatform, TracingOptions) {
  CustomConfig custom;
  custom.leaf_modules = {"Head"};
  const quant::QuantModel model = nested(custom);
  EXPECT_TRUE(model.module().graph().find("head"));
  Nested with_note;
  with_note.set_attribute("note", fx::Value("kept"));
  custom = {};
  custom.trace.preserve[""] = {"note"};
  const quant::QuantModel kept = prepare_by_platform(with_note, "qdq", custom);
  ASSERT_TRUE(kept.module().find_attribute("note"));
  EXPECT_EQ(kept.module().find_attribute("note")->string(), "kept");
}

/// Batch norms are not folded, and a saved simulation keeps the setting.
TEST(PrepareByPlatform, AcademicMode) {
  Nested network;
  const quant::QuantModel model = prepare_by_platform(network, "openvino", {.academic_mode = true});
  EXPECT_TRUE(model.platform().placement.transparent.empty());
  EXPECT_FALSE(model.config().schedule.fuse_bn);
  const quant::QuantSpec& weight = model.layer("conv").weight_quantizer().spec();
  EXPECT_EQ(weight.qmin(), -63);
  EXPECT_EQ(weight.qmax(), 63);
  EXPECT_EQ(*platforms::parse_platform(model.platform().text, "saved"), model.platform());
}

TEST(PrepareByPlatform, SettingsReachTheQuantizers) {
  Nested model;
  const quant::QuantModel prepared =
      prepare_by_platform(model, "academic",
                          {.weights = {{"OBSERVER.TYPE", "batch_mse"},
                                       {"OBSERVER.BATCH_MSE.P", "2.4"},
                                       {"QUANTIZER.TYPE", "adaround"},
                                       {"QUANTIZER.BIT", "4"},
                                       {"QSCHEME", "per-channel-affine"}},
                           .activations = {{"OBSERVER.TYPE", "ema_mse"}}});
  const quant::Quantizer& weight = prepared.layer("head_conv").weight_quantizer();
  EXPECT_EQ(weight.config().observer.type, "batch_mse");
  EXPECT_EQ(weight.config().observer.error_exponent, 2.4);
  EXPECT_EQ(weight.config().quantizer.type, "adaround");
  EXPECT_EQ(to_string(weight.spec().scheme), "per-channel-affine");
  EXPECT_EQ(weight.spec().bits, 4);
  EXPECT_EQ(prepared.layer("head_conv").input_quantizer().config().observer.type, "ema_mse");
}

TEST(PrepareByPlatform, SettingsThatThePlatformDoesNotHaveAreErrors) {
  Nested model;
  EXPECT_THAT(
      [&] {
        prepare_by_platform(model, "tensorrt", {.weights = {{"QUANTIZER.BIT", "4"}}});
      },
      ThrowsMessage<Error>(HasSubstr("BACKEND tensorrt supports 8 bits, not 4")));
}

/// LSQ divides a scale's gradient by sqrt(N * qmax) unless the setting is off.
TEST(PrepareByPlatform, GradientScalingOfLsqCanBeSwitchedOff) {
  const auto gradient = [](const std::string& arguments) {
    const CustomConfig custom = parse_custom_config(parse_yaml(
        "extra_qconfig_dict: {w_fakequantize: LearnableFakeQuantize" + arguments + "}", "c"));
    at::manual_seed(0);
    Nested network;
    const at::Tensor x = at::ones({1, 4, 4, 4});
    quant::QuantModel model = prepare_by_platform(network, "tensorrt", custom, {x});
    enable_calibration(model, quant::QuantizerKind::Weights);
    enable_quantization(model, quant::QuantizerKind::Weights);
    model.forward({x}).tensor().sum().backward();
    const at::Tensor scale = model.layer("conv").weight_quantizer().qparams().scale;
    const at::Tensor weight = *model.module().find_tensor("conv.weight");
    const auto numbers = static_cast<double>(weight.numel() / scale.numel());
    return std::pair(scale.grad().clone(), std::sqrt(numbers * 127));
  };
  const auto [divided, divisor] = gradient("");
  const auto [whole, same] = gradient(", w_fakeq_params: {use_grad_scaling: false}");
  EXPECT_TRUE(at::allclose(divided * divisor, whole));
  EXPECT_GT(whole.abs().max().item<float>(), 0);
  EXPECT_THAT([&] { gradient(", w_fakeq_params: {scale: 1}"); },
              ThrowsMessage<Error>(HasSubstr("calibration sets the initial scale")));
}

/// Passes given by name run although the platform's config does not fold batch norms.
TEST(PrepareByPlatform, PassesByName) {
  const auto prepared = [](const std::string& pass) {
    const CustomConfig custom = parse_custom_config(
        parse_yaml("extra_fuse_dict: {additional_fusion_pattern: [" + pass + "]}\n", "c.yaml"));
    const zoo::Example example = zoo::make("resnet20");
    return prepare_by_platform(*example.model, "academic", custom, example.inputs);
  };
  const auto batch_norms = [](const quant::QuantModel& model) {
    return model.module().graph().find("bn1") != nullptr;
  };
  EXPECT_FALSE(batch_norms(prepared("fuse_bn")));
  EXPECT_TRUE(batch_norms(prepared("merge_pads")));
  EXPECT_THAT([&] { prepared("fuse_bnn"); }, ThrowsMessage<Error>(HasSubstr("fuse_bnn")));
}

TEST(PrepareByPlatform, WrongSettingsAreNamedWithTheirLine) {
  const CustomConfig typo = parse_custom_config(
      parse_yaml("extra_qconfig_dict:\n  w_observer: MinMaxObservr\n", "c.yaml"));
  EXPECT_THAT([&] { customized(quant::default_qconfig(platforms::find_platform("snpe")), typo); },
              ThrowsMessage<Error>(HasSubstr("c.yaml:2: extra_qconfig_dict.w_observer")));
}

}  // namespace
}  // namespace sparsebit::deploy::prepare_test
