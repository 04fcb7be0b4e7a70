#include "quant/rounding/learn_rounding.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/error_profiler.h"
#include "sparsebit/quant/quant_model.h"
#include "sparsebit/quant/quantizers/bias.h"
#include "sparsebit/quant/saved_model.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::learn_rounding_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Settings {
  std::string type = "gptq";
  bool correction = true;
  int bits = 4;
  std::string platform = "virtual";
};

QConfig config_of(const Settings& settings) {
  return parse_qconfig(parse_yaml(
      c10::str("BACKEND: ", settings.platform, "\nSCHEDULE: {FUSE_BN: true, BIAS_CORRECTION: ",
               settings.correction ? "true" : "false",
               "}\nW: {QSCHEME: per-channel-symmetric, QUANTIZER: {TYPE: ", settings.type,
               ", BIT: ", settings.bits,
               "}, OBSERVER: {TYPE: mse}}\n"
               "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}, OBSERVER: {TYPE: minmax}}\n"),
      "test.yaml"));
}

const CalcOptions kOnQuantizedInputs = {.asym = true, .w_quant = true, .a_quant = true};

/// Images whose channels and neighbouring pixels are correlated, as in photographs.
at::Tensor images(int64_t count, int64_t channels = 3, int64_t size = 16) {
  const at::Tensor coarse = at::randn({count, 1, 4, 4}) + 0.5 * at::randn({count, channels, 4, 4});
  return at::upsample_bilinear2d(coarse, {size, size}, false) +
         0.1 * at::randn({count, channels, size, size}) + 0.3;
}

/// Every kind of layer: convolutions with groups, depthwise, transposed, one axis; linear.
class Layers : public nn::Module {
 public:
  Layers() : nn::Module("Layers", "x") {
    add_module("stem", nn::Conv2d(3, 8, 3, {{"padding", 1}}));
    add_module("depthwise", nn::Conv2d(8, 8, 3, {{"padding", 1}, {"groups", 8}}));
    add_module("grouped", nn::Conv2d(8, 12, 3, {{"stride", 2}, {"groups", 2}}));
    add_module("up", nn::ConvTranspose2d(12, 6, 2, {{"stride", 2}}));
    add_module("line", nn::Conv1d(6, 10, 3, {{"padding", 1}}));
    add_module("head", nn::Linear(10, 5));
  }
  fx::Value forward(const fx::Args& in) override {
    const auto f = [&](const char* name, const fx::Value& x) { return nn::relu(call(name, x)); };
    fx::Value x = f("grouped", f("depthwise", f("stem", in["x"])));
    x = nn::flatten(f("up", x), 2);
    x = f("line", x);
    return call("head", nn::mean(x, {2}));
  }
};

std::unique_ptr<QuantModel> calibrated(nn::Module& net, const at::Tensor& samples,
                                       const Settings& settings,
                                       const CalcOptions& options = kOnQuantizedInputs) {
  net.eval();
  auto model = std::make_unique<QuantModel>(net, config_of(settings),
                                            std::vector<fx::Value>{samples.narrow(0, 0, 1)});
  model->prepare_calibration();
  model->forward({samples});
  model->calc_qparams(options);
  return model;
}

at::Tensor quantized_output(QuantModel& model, const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  model.set_quant({.weights = true, .activations = true});
  const at::Tensor y = model.forward({x}).tensor();
  model.set_quant({});
  return y;
}

double noise_of(QuantModel& model, const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  const at::Tensor expected = model.forward({x}).tensor();
  return energy_of_difference(quantized_output(model, x), expected) / energy(expected);
}

/// On other samples than those it learned from.
TEST(LearnRounding, BeatsRoundingToNearestOnEveryKindOfLayer) {
  at::manual_seed(1);
  Layers net;
  const at::Tensor samples = images(48), others = images(32);
  const double nearest =
      noise_of(*calibrated(net, samples, {.type = "uniform", .correction = false}), others);
  const double corrected = noise_of(*calibrated(net, samples, {.type = "uniform"}), others);
  const auto model = calibrated(net, samples, {});
  EXPECT_LT(corrected, nearest);
  EXPECT_LT(noise_of(*model, others), 0.5 * nearest);
  for (const QuantPoint& point : model->points())
    EXPECT_EQ(point.is_weight(), point.quantizer->learned_integers() != nullptr) << point.name;
}

TEST(LearnRounding, LeavesTheFloatModelAsItIs) {
  at::manual_seed(2);
  Layers net;
  const at::Tensor samples = images(8);
  const auto model = calibrated(net, samples, {});
  const at::NoGradGuard no_gradients;
  EXPECT_TRUE(at::equal(model->forward({samples}).tensor(), net(samples).tensor()));
}

/// The mean of each output channel over the samples is that of the float model.
TEST(LearnRounding, CorrectsTheMeanOfEachChannel) {
  at::manual_seed(3);
  for (const char* platform : {"virtual", "onnxruntime"}) {
    SCOPED_TRACE(platform);
    Layers net;
    const at::Tensor samples = images(32);
    const auto model = calibrated(net, samples, {.type = "uniform", .platform = platform});
    const auto plain =
        calibrated(net, samples, {.type = "uniform", .correction = false, .platform = platform});
    const at::NoGradGuard no_gradients;
    const at::Tensor expected = model->forward({samples}).tensor().mean(0);
    const auto distance = [&](QuantModel& of) {
      return (quantized_output(of, samples).mean(0) - expected).abs().max().item<double>();
    };
    EXPECT_LT(distance(*model), 0.2 * distance(*plain));
  }
}

TEST(LearnRounding, ThreadsAndBatchesChangeNoBit) {
  Layers net;
  at::manual_seed(4);
  const at::Tensor samples = images(6);
  const int before = at::get_num_threads();
  std::vector<at::Tensor> outputs;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    net.eval();
    QuantModel model(net, config_of({}), {samples.narrow(0, 0, 1)});
    model.prepare_calibration();
    for (int64_t start = 0; start < 6; start += 2 * threads)
      model.forward({samples.narrow(0, start, std::min<int64_t>(2 * threads, 6 - start))});
    model.calc_qparams(kOnQuantizedInputs);
    at::set_num_threads(1);
    outputs.push_back(quantized_output(model, samples));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(outputs[0], outputs[1]));
}

/// Fewer samples than a layer has inputs: nothing is learned by heart.
TEST(LearnRounding, FewSamplesDoNoHarm) {
  class Head : public nn::Module {
   public:
    Head() : nn::Module("Head", "x") { add_module("fc", nn::Linear(200, 10)); }
    fx::Value forward(const fx::Args& in) override { return call("fc", in["x"]); }
  };
  at::manual_seed(5);
  Head net;
  const at::Tensor others = at::randn({256, 200});
  for (const int64_t count : {1, 2, 20}) {
    SCOPED_TRACE(count);
    const at::Tensor samples = at::randn({count, 200});
    const double nearest =
        noise_of(*calibrated(net, samples, {.type = "uniform", .correction = false}), others);
    EXPECT_LT(noise_of(*calibrated(net, samples, {.correction = false}), others), 1.1 * nearest);
  }
}

TEST(LearnRounding, ConstantAndZeroInputsAreFine) {
  Layers net;
  for (const double number : {0., 1.}) {
    SCOPED_TRACE(number);
    const at::Tensor samples = at::full({4, 3, 16, 16}, number);
    const auto model = calibrated(net, samples, {});
    EXPECT_TRUE(quantized_output(*model, images(2)).isfinite().all().item<bool>());
  }
}

TEST(LearnRounding, NeedsSamples) {
  Layers net;
  QuantModel model(net, config_of({}), {images(1)});
  model.prepare_calibration();
  EXPECT_THAT([&] { model.calc_qparams(); }, ThrowsMessage<Error>(HasSubstr("no data was seen")));
}

/// A layer that is called twice learns from its first call; each call has its own correction.
TEST(LearnRounding, SharedLayers) {
  class Twice : public nn::Module {
   public:
    Twice() : nn::Module("Twice", "x") {
      add_module("conv", nn::Conv2d(3, 3, 3, {{"padding", 1}}));
    }
    fx::Value forward(const fx::Args& in) override {
      return call("conv", nn::relu(call("conv", in["x"])));
    }
  };
  at::manual_seed(6);
  Twice net;
  const at::Tensor samples = images(32), others = images(16);
  const double nearest =
      noise_of(*calibrated(net, samples, {.type = "uniform", .correction = false}), others);
  for (const char* platform : {"virtual", "onnxruntime"}) {
    const auto model = calibrated(net, samples, {.platform = platform});
    EXPECT_LT(noise_of(*model, others), nearest);
    const auto corrections =
        std::count_if(model->points().begin(), model->points().end(), [](const QuantPoint& point) {
          return point.is_bias() && dynamic_cast<Bias&>(*point.quantizer).has_correction();
        });
    EXPECT_EQ(corrections, 2) << platform;
  }
}

TEST(LearnRounding, TrainingStartsFromTheLearnedWeights) {
  at::manual_seed(7);
  Layers net;
  net.eval();
  const at::Tensor samples = images(16);
  QuantModel model(net, config_of({}), {samples.narrow(0, 0, 1)});
  model.prepare_calibration();
  model.forward({samples});
  model.init_qat();
  Quantizer& quantizer = model.quantizer("stem_weight_quantizer");
  EXPECT_EQ(quantizer.learned_integers(), nullptr);
  const at::Tensor weight = *model.module().find_tensor("stem.weight");
  EXPECT_TRUE(at::allclose(quantizer(weight).tensor(), weight, 0, 1e-6));
  EXPECT_FALSE(at::equal(weight, *net.find_tensor("stem.weight")));
}

TEST(LearnRounding, TrainingWithoutInitQatMovesTheWeights) {
  at::manual_seed(8);
  Layers net;
  const at::Tensor samples = images(4);
  const auto model = calibrated(net, samples, {});
  model->set_quant({.weights = true, .activations = true});
  model->forward({samples}).tensor().sum().backward();
  const at::Tensor gradient = model->module().find_tensor("stem.weight")->grad();
  ASSERT_TRUE(gradient.defined());
  EXPECT_GT(gradient.abs().max().item<double>(), 0);
}

/// A new calibration starts from the network, not from old corrections.
TEST(LearnRounding, CalibratingAgainGivesTheSame) {
  at::manual_seed(9);
  Layers net;
  const at::Tensor samples = images(8);
  const auto model = calibrated(net, samples, {});
  const at::Tensor once = quantized_output(*model, samples);
  const auto restored = restore_model(save_model(*model));
  EXPECT_TRUE(at::equal(quantized_output(*restored, samples), once));
  for (QuantModel* again : {model.get(), restored.get()}) {
    again->prepare_calibration();
    again->forward({samples});
    again->calc_qparams(kOnQuantizedInputs);
    EXPECT_TRUE(at::equal(quantized_output(*again, samples), once));
  }
}

TEST(LearnRounding, WhatCannotBeCombined) {
  Layers net;
  const at::Tensor samples = images(2);
  const CalcOptions sequential = {
      .asym = true, .w_quant = true, .a_quant = true, .quantized_ranges = true};
  EXPECT_THAT([&] { calibrated(net, samples, {}, sequential); },
              ThrowsMessage<Error>(HasSubstr("finds ranges before rounding is learned")));
  EXPECT_NO_THROW(calibrated(net, samples, {.type = "uniform"}, sequential));
  const auto model = calibrated(net, samples, {});
  EXPECT_THAT([&] { model->batchnorm_tuning([] {}); },
              ThrowsMessage<Error>(HasSubstr("already learned")));
}

/// One batch of many samples is as good as many batches.
TEST(LearnRounding, WholeBatchesHaveSamples) {
  at::manual_seed(10);
  Layers net;
  net.eval();
  const at::Tensor samples = images(48), others = images(32);
  const auto noise = [&](const char* type) {
    QuantModel model(net, config_of({.type = type, .correction = false}), {samples});
    model.prepare_calibration({.whole_batches = true});
    model.forward({samples});
    model.calc_qparams(kOnQuantizedInputs);
    return noise_of(model, others);
  };
  EXPECT_LT(noise("gptq"), 0.7 * noise("uniform"));
}

TEST(LearnRounding, AffineWeightsAndGroupsOfInputs) {
  at::manual_seed(11);
  class Head : public nn::Module {
   public:
    Head() : nn::Module("Head", "x") { add_module("fc", nn::Linear(32, 10)); }
    fx::Value forward(const fx::Args& in) override { return call("fc", in["x"]); }
  };
  Head net;
  const at::Tensor mix = at::randn({32, 32}) / 4 + 0.3;
  const at::Tensor samples = at::randn({200, 32}).matmul(mix),
                   others = at::randn({200, 32}).matmul(mix);
  for (const char* weights : {"per-channel-affine, QUANTIZER: {BIT: 3, TYPE: ",
                              "per-tensor-affine, QUANTIZER: {BIT: 3, TYPE: ",
                              "per-channel-symmetric, QUANTIZER: {BIT: 3, GROUP_SIZE: 8, TYPE: "}) {
    SCOPED_TRACE(weights);
    const auto noise = [&](const char* type) {
      const QConfig config = parse_qconfig(
          parse_yaml(c10::str("W: {QSCHEME: ", weights, type,
                              "}}\nA: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n"),
                     "test.yaml"));
      QuantModel model(net, config, {samples.narrow(0, 0, 1)});
      model.prepare_calibration();
      model.forward({samples});
      model.calc_qparams(kOnQuantizedInputs);
      return noise_of(model, others);
    };
    EXPECT_LT(noise("gptq"), 0.7 * noise("uniform"));
  }
}

TEST(LearnRounding, IsForWeights) {
  EXPECT_THAT(
      [] {
        parse_qconfig(
            parse_yaml("W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}\n"
                       "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8, TYPE: gptq}}",
                       "q.yaml"));
      },
      ThrowsMessage<Error>(HasSubstr("A.QUANTIZER.TYPE: gptq is for weights only")));
}

}  // namespace
}  // namespace sparsebit::quant::learn_rounding_test
