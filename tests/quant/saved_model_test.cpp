#include "sparsebit/quant/saved_model.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/gpt2.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::saved_model_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QConfig config_of(const std::string& weight, const std::string& activations) {
  return parse_qconfig(parse_yaml(
      "W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4, TYPE: " + weight +
          "}}\nA: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 6, TYPE: " + activations + "}}\n",
      "q.yaml"));
}

std::unique_ptr<QuantModel> calibrated(const zoo::Example& example, const QConfig& config) {
  auto model = std::make_unique<QuantModel>(*example.model, config, example.inputs);
  model->prepare_calibration();
  model->forward(example.inputs);
  model->calc_qparams();
  model->set_quant({.weights = true, .activations = true});
  return model;
}

at::Tensor result_of(QuantModel& model, const std::vector<fx::Value>& inputs) {
  const fx::Value result = model.forward(inputs);
  return (result.is_sequence() ? result.items().front() : result).tensor().detach();
}

/// Loading needs neither config nor data, for all quantizer types.
TEST(SavedModel, ComputesTheSameToTheLastBit) {
  const std::vector<std::pair<const char*, const char*>> types = {{"uniform", "uniform"},
                                                                  {"lsq", "lsq+"},
                                                                  {"dorefa", "pact"},
                                                                  {"adaround", "lsq"},
                                                                  {"gptq", "uniform"}};
  for (const auto& [weight, activations] : types) {
    SCOPED_TRACE(weight);
    const zoo::Example example = zoo::make("resnet20");
    const auto model = calibrated(example, config_of(weight, activations));
    const SavedModel saved = save_model(*model);
    const auto again = restore_model(saved);
    EXPECT_TRUE(at::equal(result_of(*again, example.inputs), result_of(*model, example.inputs)));
    EXPECT_EQ(again->points().size(), model->points().size());
    EXPECT_EQ(again->quantizer("conv1_weight_quantizer").spec().bits, 4);
    EXPECT_EQ(save_model(*again).description, saved.description);
  }
}

/// Quantizers and observers that need other schemes.
TEST(SavedModel, RangesAndPowersOfTwo) {
  const std::vector<std::pair<const char*, const char*>> settings = {
      {"TYPE: tqt, POT_SCALE: true", "TYPE: tqt"},
      {"TYPE: nnie", "TYPE: nnie"},
      {"RANGE: [-64, 63]", "TYPE: dsq, DSQ: {ALPHA: 0.3}, RANGE: [0, 255]"}};
  for (const auto& [weight, activations] : settings) {
    SCOPED_TRACE(weight);
    const zoo::Example example = zoo::make("resnet20");
    const QConfig config = parse_qconfig(
        parse_yaml(c10::str("W: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, ", weight,
                            "}}\nA: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, ",
                            activations, "}, OBSERVER: {TYPE: clip_std}}\n"),
                   "q.yaml"));
    const auto model = calibrated(example, config);
    const SavedModel saved = save_model(*model);
    const auto again = restore_model(saved);
    EXPECT_TRUE(at::equal(result_of(*again, example.inputs), result_of(*model, example.inputs)));
    for (size_t i = 0; i < model->points().size(); ++i) {
      const Quantizer &before = *model->points()[i].quantizer,
                      &after = *again->points()[i].quantizer;
      EXPECT_EQ(after.spec(), before.spec());
      EXPECT_EQ(after.config(), before.config());
    }
    EXPECT_EQ(save_model(*again).description, saved.description);
  }
}

/// Files without settings that were added later.
TEST(SavedModel, OlderFilesAreRead) {
  const zoo::Example example = zoo::make("resnet20");
  const auto model = calibrated(example, config_of("uniform", "uniform"));
  SavedModel saved = save_model(*model);
  for (const std::string added : {",\"pot_scale\":false", ",\"dsq_alpha\":0.4",
                                  ",\"network_input\":false", ",\"quantile_bins\":2048"}) {
    ASSERT_NE(saved.description.find(added), std::string::npos) << added;
    for (size_t at; (at = saved.description.find(added)) != std::string::npos;)
      saved.description.erase(at, added.size());
  }
  const auto again = restore_model(saved);
  EXPECT_EQ(again->points().front().quantizer->config(),
            model->points().front().quantizer->config());
}

/// The embedding and the output layer of GPT-2 are one weight.
TEST(SavedModel, TransformersWithSharedTensors) {
  const zoo::Example example{
      zoo::gpt2(
          {.vocab_size = 100, .context = 16, .embed_dim = 32, .num_layers = 2, .num_heads = 4}),
      {at::arange(8).reshape({1, 8})}};
  nn::reset_parameters(*example.model, 1);
  example.model->eval();
  const auto model = calibrated(example, config_of("uniform", "uniform"));
  const auto again = restore_model(save_model(*model));
  EXPECT_TRUE(at::equal(result_of(*again, example.inputs), result_of(*model, example.inputs)));
  EXPECT_EQ(again->module().named_parameters().size(), model->module().named_parameters().size());
}

TEST(SavedModel, StatesAreKept) {
  const zoo::Example example = zoo::make("resnet20");
  const auto model = calibrated(example, config_of("uniform", "uniform"));
  model->set_quant({.weights = true});
  model->points().front().quantizer->switch_off("the first layer is small");
  const auto again = restore_model(save_model(*model));
  EXPECT_EQ(again->points().front().quantizer->why_off()->other, "the first layer is small");
  EXPECT_FALSE(again->points()[1].quantizer->is_enabled());
  EXPECT_TRUE(again->quantizer("conv1_weight_quantizer").is_enabled());
  EXPECT_EQ(again->floats().size(), model->floats().size());
}

/// Norms and softmax between integer nodes, for which ONNX Runtime has its own arithmetic.
class Attention : public nn::Module {
 public:
  Attention() : Module("Attention", "x") {
    for (const char* name : {"q", "k", "v"}) add_module(name, nn::Linear(8, 8));
    add_module("norm", nn::LayerNorm(8));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value x = call("norm", in["x"]);
    const nn::Value scores = nn::matmul(call("q", x), nn::transpose(call("k", x), -2, -1));
    return nn::matmul(nn::softmax(scores, -1), call("v", x));
  }
};

/// A loaded model has the same platform and uses its float kernels.
TEST(SavedModel, KeepsItsPlatform) {
  const at::NoGradGuard no_gradients;
  const at::Tensor x = at::randn({2, 6, 8}, at::detail::createCPUGenerator(4));
  for (const std::string& platform : platforms::platforms().names()) {
    SCOPED_TRACE(platform);
    Attention network;
    QuantModel model(network, default_qconfig(platforms::find_platform(platform)), {x});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    model.set_quant({.weights = true, .activations = true});
    const auto again = restore_model(save_model(model));
    EXPECT_EQ(again->platform(), model.platform());
    EXPECT_TRUE(at::equal(again->forward({x}).tensor(), model.forward({x}).tensor()));
  }
}

TEST(SavedModel, WhatIsNotOneIsAnError) {
  const zoo::Example example = zoo::make("resnet20");
  const SavedModel good = save_model(*calibrated(example, config_of("uniform", "uniform")));
  const auto broken = [&](const std::string& what, const std::string& by) {
    SavedModel saved = good;
    const size_t at = saved.description.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    saved.description.replace(at, what.size(), by);
    return saved;
  };
  EXPECT_THAT([&] { restore_model(broken("\"format\":2", "\"format\":9")); },
              ThrowsMessage<Error>(HasSubstr("unsupported format; expected 2, found 9")));
  EXPECT_THAT([&] { restore_model(broken("{\"format\"", "[{\"format\"")); },
              ThrowsMessage<Error>(HasSubstr("not a saved quantized model")));
  EXPECT_THAT([&] { restore_model(broken("\"bits\":6", "\"bits\":60")); },
              ThrowsMessage<Error>(HasSubstr("invalid quantizer settings")));
  EXPECT_THROW(restore_model(broken("\"quantizer\":\"uniform\"", "\"quantizer\":\"other\"")),
               Error);
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"\"fixed_batch\":0", "\"fixed_batch\":-2"},
      {"\"name\":\"x_quantizer\",\"value\"", "\"name\":\"y_quantizer\",\"value\""},
      {"\"consumers\":[\"conv1\"]", "\"consumers\":[\"conv9\"]"},
      {"\"scale\":{\"tensor\":\"x_quantizer.scale\"",
       "\"scale\":{\"tensor\":\"conv1.weight_quantizer.scale\""},
      {"\"scale\":{\"tensor\":\"x_quantizer.scale\"", "\"skale\":{\"tensor\":\"fc.bias\""},
      {"\"scale\":{\"tensor\":\"conv1.weight_quantizer.scale\"",
       "\"scale\":{\"tensor\":\"fc.weight_quantizer.scale\""},
      {"\"scheme\":\"per-channel-symmetric\"", "\"scheme\":\"per-pixel-symmetric\""},
      {"\"channel_axis\":0", "\"channel_axis\":7"},
      {"\"pot_scale\":false", "\"pot_scale\":false,\"range\":[-4,900]"},
      {"\"quantile_bins\":2048", "\"quantile_bins\":0"},
      {"{\"path\":\"\",",
       "{\"path\":\"\",\"quantizer\":{\"on\":true,\"calibrated\":true,"
       "\"why_off\":null},"},
      {"    return ", "    # "},
  };
  for (const auto& [what, by] : damages) {
    SCOPED_TRACE(what + " -> " + by);
    try {
      restore_model(broken(what, by));
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::InvalidModel) << e.what();
    }
  }
  SavedModel empty = good;
  empty.tensors.clear();
  EXPECT_THAT([&] { restore_model(empty); },
              ThrowsMessage<Error>(AllOf(HasSubstr("the tensor"), HasSubstr("is missing"))));
}

}  // namespace
}  // namespace sparsebit::quant::saved_model_test
