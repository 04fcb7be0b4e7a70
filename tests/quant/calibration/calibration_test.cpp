#include "sparsebit/core/error.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/quant_model.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::calibration_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QConfig config_of(const std::string& observer, int bits = 8) {
  QConfig config = parse_qconfig(parse_yaml(R"(
SCHEDULE: {FUSE_BN: true}
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)",
                                            "test.yaml"));
  config.activation.observer.type = observer;
  if (observer != "moving_average") config.weight.observer.type = observer;
  config.weight.quantizer.bits = config.activation.quantizer.bits = bits;
  return config;
}

std::vector<at::Tensor> scales_of(const QuantModel& model) {
  std::vector<at::Tensor> scales;
  for (const QuantPoint& point : model.points()) {
    scales.push_back(point.quantizer->qparams().scale.clone());
    scales.push_back(point.quantizer->qparams().zero_point.clone());
  }
  return scales;
}

bool equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const at::Tensor& x, const at::Tensor& y) { return at::equal(x, y); });
}

TEST(Calibration, ThreadsChangeNoBit) {
  const zoo::Example example = zoo::make("resnet20");
  const at::Tensor images = at::randn({6, 3, 32, 32});
  const int before = at::get_num_threads();
  for (const char* observer :
       {"minmax", "moving_average", "percentile", "mse", "aciq", "kl_histogram"}) {
    SCOPED_TRACE(observer);
    std::vector<std::vector<at::Tensor>> scales;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      QuantModel model(*example.model, config_of(observer), {images.narrow(0, 0, 1)});
      model.prepare_calibration();
      model.forward({images.narrow(0, 0, 5)});
      model.forward({images.narrow(0, 5, 1)});
      model.calc_qparams();
      EXPECT_EQ(at::get_num_threads(), threads);
      scales.push_back(scales_of(model));
    }
    EXPECT_TRUE(equal(scales[0], scales[1]));
    EXPECT_TRUE(equal(scales[0], scales[2]));
  }
  at::set_num_threads(before);
}

/// Quantizers with observers of their own also merge the statistics of threads correctly.
TEST(Calibration, ThreadsChangeNoBitOfAnyQuantizer) {
  const zoo::Example example = zoo::make("resnet20");
  const at::Tensor images = at::randn({40, 3, 32, 32});
  const int before = at::get_num_threads();
  for (const char* type : {"dorefa", "lsq", "lsq+", "pact"}) {
    SCOPED_TRACE(type);
    QConfig config = config_of("minmax");
    config.activation.quantizer.type = type;
    std::vector<std::vector<at::Tensor>> states;
    for (const int threads : {1, 4}) {
      at::set_num_threads(threads);
      QuantModel model(*example.model, config, {images.narrow(0, 0, 1)});
      model.prepare_calibration();
      model.forward({images});
      model.calc_qparams();
      std::vector<at::Tensor>& state = states.emplace_back();
      for (const auto& item : model.module().state_dict()) state.push_back(item->detach());
    }
    EXPECT_TRUE(equal(states[0], states[1]));
  }
  at::set_num_threads(before);
}

TEST(Calibration, ResultsOfABatchComeInItsOrder) {
  const zoo::Example example = zoo::make("resnet20");
  const at::Tensor images = at::randn({9, 3, 32, 32});
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  QuantModel model(*example.model, config_of("minmax"), {images.narrow(0, 0, 1)});
  const at::Tensor expected = model.forward({images}).tensor().detach();
  model.prepare_calibration();
  EXPECT_TRUE(at::allclose(model.forward({images}).tensor(), expected, 1e-4, 1e-5));
  at::set_num_threads(before);
}

// --- in sequence --------------------------------------------------------------------------------

QuantModel calibrated(const zoo::Example& example, const at::Tensor& images,
                      const CalcOptions& options, int64_t bytes_in_memory = 1 << 30,
                      int64_t batch = 4, int bits = 4) {
  QuantModel model(*example.model, config_of("minmax", bits), {images.narrow(0, 0, 1)});
  model.prepare_calibration(
      {.keep_samples = options.quantized_ranges, .bytes_in_memory = bytes_in_memory});
  for (const at::Tensor& part : images.split(batch)) model.forward({part});
  model.calc_qparams(options);
  return model;
}

/// The ranges are those of the calibrated model, run with quantizers enabled according to the
/// options.
TEST(Calibration, InSequenceRangesAreThoseOfTheQuantizedModel) {
  const zoo::Example example = zoo::make("resnet20");
  at::manual_seed(3);
  const at::Tensor images = at::randn({5, 3, 32, 32});
  for (const auto& [w, a] : {std::pair{true, false}, {false, true}, {true, true}}) {
    QuantModel model = calibrated(
        example, images, {.asym = true, .w_quant = w, .a_quant = a, .quantized_ranges = true});
    for (const QuantPoint& point : model.points()) EXPECT_FALSE(point.quantizer->is_enabled());
    model.set_quant({.weights = w, .activations = a});
    std::map<std::string, std::pair<float, float>> ranges;
    const OneThread same_bits;
    for (int64_t i = 0; i < 5; ++i) {
      fx::Interpreter interpreter(model.module(), fx::RunMode::Inference);
      interpreter.add_hook({.before =
                                [&](const fx::Node& node, fx::NodeCall& call) {
                                  if (!node.name().ends_with("_quantizer")) return;
                                  const at::Tensor& x = call.args.front().tensor();
                                  auto& range = ranges[node.name()];
                                  range.first = std::min(range.first, x.min().item<float>());
                                  range.second = std::max(range.second, x.max().item<float>());
                                },
                            .after = {}});
      interpreter.run({images.narrow(0, i, 1)});
    }
    for (const QuantPoint& point : model.points()) {
      if (point.is_weight()) continue;
      const auto [low, high] = ranges.at(point.name);
      EXPECT_FLOAT_EQ(point.quantizer->qparams().scale.item<float>(), (high - low) / 15)
          << point.name;
    }
  }
}

TEST(Calibration, InSequenceMemoryAndBatchesChangeNoBit) {
  const zoo::Example example = zoo::make("mobilenet_v2");
  const at::Tensor images = at::randn({4, 3, 64, 64});
  const CalcOptions options{
      .asym = true, .w_quant = true, .a_quant = true, .quantized_ranges = true};
  const std::vector<at::Tensor> expected = scales_of(calibrated(example, images, options));
  EXPECT_TRUE(equal(scales_of(calibrated(example, images, options, 0, 1)), expected));
  EXPECT_TRUE(equal(scales_of(calibrated(example, images, options, 1 << 20, 3)), expected));
  EXPECT_FALSE(equal(scales_of(calibrated(example, images, {})), expected));
}

/// As in the Python Sparsebit: without methods that learn, ranges are those of the float model.
TEST(Calibration, AsymAloneLeavesRanges) {
  const zoo::Example example = zoo::make("resnet18");
  const at::Tensor images = at::randn({2, 3, 64, 64});
  const std::vector<at::Tensor> expected = scales_of(calibrated(example, images, {}));
  for (const auto& [w, a] : {std::pair{true, false}, {false, true}, {true, true}}) {
    const CalcOptions options{.asym = true, .w_quant = w, .a_quant = a};
    EXPECT_TRUE(equal(scales_of(calibrated(example, images, options)), expected));
  }
}

TEST(Calibration, InSequenceItNeedsTheSamples) {
  const zoo::Example example = zoo::make("resnet20");
  QuantModel model(*example.model, config_of("minmax"), example.inputs);
  model.prepare_calibration();
  model.forward({at::randn({1, 3, 32, 32})});
  EXPECT_THAT([&] { model.calc_qparams({.asym = true, .quantized_ranges = true}); },
              ThrowsMessage<Error>(HasSubstr("prepare_calibration({.keep_samples = true})")));
  EXPECT_THAT([&] { model.calc_qparams({.quantized_ranges = true}); },
              ThrowsMessage<Error>(HasSubstr("quantized_ranges requires asym")));
  model.calc_qparams();  // the statistics are still there
}

/// All consumers of a value that is modified in place see the change, wherever it is stored.
class WritesInPlace : public nn::Module {
 public:
  WritesInPlace() : Module("WritesInPlace", "x") {
    add_module("conv", nn::Conv2d(3, 4, 1));
    add_module("act", nn::ReLU({{"inplace", true}}));
    add_module("other", nn::Conv2d(4, 4, 1));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value y = call("conv", in["x"]);
    call("act", y);
    return call("other", y);
  }
};

TEST(Calibration, InSequenceWritesInPlaceAreSeen) {
  WritesInPlace writer;
  const at::Tensor images = at::randn({4, 3, 8, 8});
  for (const int64_t memory : {int64_t{0}, int64_t{1} << 30}) {
    QuantModel model(writer, config_of("minmax"), {images.narrow(0, 0, 1)});
    model.prepare_calibration({.keep_samples = true, .bytes_in_memory = memory});
    model.forward({images});
    model.calc_qparams({.asym = true, .w_quant = true, .quantized_ranges = true});
    EXPECT_EQ(model.layer("other").input_quantizer().qparams().zero_point.item<float>(), 0);
  }
}

/// Kept samples are unchanged, also if the model modifies its input in place.
class WritesInput : public nn::Module {
 public:
  WritesInput() : Module("WritesInput", "x") {
    add_module("fc", nn::Linear(6, 3));
    add_module("act", nn::ReLU({{"inplace", true}}));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value y = call("fc", in["x"]);
    return y + call("fc", call("act", in["x"]));
  }
};

TEST(Calibration, InputsThatAreWrittenAreCopied) {
  WritesInput writer;
  const at::Tensor x = at::randn({4, 6}), copy = x.clone();
  std::vector<at::Tensor> scales;
  for (const bool in_sequence : {false, true}) {
    QuantModel model(writer, config_of("minmax"), {x.clone()});
    model.prepare_calibration({.keep_samples = in_sequence});
    model.forward({x});
    EXPECT_TRUE(at::equal(x, copy));
    model.calc_qparams({.asym = in_sequence, .quantized_ranges = in_sequence});
    scales.push_back(model.layer("fc").input_quantizers().front()->qparams().scale.clone());
  }
  EXPECT_TRUE(at::equal(scales[0], scales[1]));
}

TEST(Calibration, AFailureInSequenceLeavesEverythingOff) {
  const zoo::Example example = zoo::make("resnet20");
  QuantModel model(*example.model, config_of("minmax"), example.inputs);
  model.prepare_calibration({.keep_samples = true});
  model.forward({at::randn({1, 3, 32, 32})});
  {
    const at::NoGradGuard no_gradients;
    model.module().find_tensor("layer2.0.conv1.weight")->view(-1)[0] =
        std::numeric_limits<float>::quiet_NaN();
  }
  EXPECT_THAT(
      [&] { model.calc_qparams({.asym = true, .w_quant = true, .quantized_ranges = true}); },
      ThrowsMessage<Error>(HasSubstr("layer2.0.conv1.weight")));
  for (const QuantPoint& point : model.points()) EXPECT_FALSE(point.quantizer->is_enabled());
}

// --- batch norms --------------------------------------------------------------------------------

/// Convolution, norm, activation and linear layer with a norm.
class Normed : public nn::Module {
 public:
  Normed() : Module("Normed", "x") {
    add_module("conv", nn::Conv2d(3, 8, 3, {{"bias", false}}));
    add_module("bn", nn::BatchNorm2d(8));
    add_module("act", nn::ReLU());
    add_module("up", nn::ConvTranspose2d(8, 6, 2));
    add_module("bn2", nn::BatchNorm2d(6, {{"affine", false}}));
    add_module("fc", nn::Linear(6, 4));
    add_module("bn3", nn::BatchNorm1d(4));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value y = call("act", call("bn", call("conv", in["x"])));
    return call("bn3", call("fc", nn::mean(call("bn2", call("up", y)), {2, 3})));
  }
};

QConfig tuning_config(const std::string& scheme = "per-channel-symmetric",
                      const std::string& quantizer = "uniform") {
  return parse_qconfig(parse_yaml("SCHEDULE: {BN_TUNING: true}\nW: {QSCHEME: " + scheme +
                                      ", QUANTIZER: {TYPE: " + quantizer +
                                      ", BIT: 4}}\n"
                                      "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n",
                                  "test.yaml"));
}

int64_t norms_in(const QuantModel& model) {
  int64_t count = 0;
  for (const auto& [path, module] : const_cast<QuantModel&>(model).module().named_modules())
    count += module->type().starts_with("torch.nn.BatchNorm");
  return count;
}

std::shared_ptr<Normed> normed() {
  auto model = std::make_shared<Normed>();
  nn::reset_parameters(*model, 5);
  at::manual_seed(6);
  const at::NoGradGuard no_gradients;
  model->find_tensor("bn.weight")->uniform_(-2, 2);  // negative for some channels
  model->find_tensor("bn.bias")->uniform_(-1, 1);
  model->find_tensor("bn3.weight")->uniform_(-2, 2);
  return model;
}

QuantModel calibrated_with_norms(fx::Module& network, const at::Tensor& x, const QConfig& config) {
  QuantModel model(network, config, {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  return model;
}

TEST(BatchNormTuning, FoldedItComputesWhatTheTunedNormsDo) {
  const auto network = normed();
  const at::Tensor x = at::randn({16, 3, 10, 10});
  for (const char* scheme : {"per-channel-symmetric", "per-channel-affine"}) {
    SCOPED_TRACE(scheme);
    QConfig config = tuning_config(scheme);
    config.weight.quantizer.restricted = config.weight.scheme->symmetry ==
                                         Symmetry::Symmetric;  // the lowest integer has no negative
    QuantModel model = calibrated_with_norms(*network, x, config);
    EXPECT_EQ(norms_in(model), 3);
    const at::Tensor integers = quantize(*model.module().find_tensor("conv.weight"),
                                         model.layer("conv").weight_quantizer().qparams(),
                                         model.layer("conv").weight_quantizer().spec());
    at::Tensor tuned;
    const auto left = model.batchnorm_tuning([&] {
      for (int i = 0; i < 3; ++i) model.forward({x});
      // Norms in eval mode with their new statistics, not those of the batch.
      for (const auto& [path, module] : model.module().named_modules()) module->set_training(false);
      tuned = model.forward({x}).tensor();
    });
    EXPECT_TRUE(left.empty());
    EXPECT_EQ(norms_in(model), 0);
    for (const Decision& decision : model.floats())
      EXPECT_TRUE(model.module().graph().find(decision.node)) << decision.node;
    model.set_quant({.weights = true, .activations = true});
    const at::NoGradGuard no_gradients;
    const at::Tensor folded = model.forward({x}).tensor();
    EXPECT_TRUE(at::allclose(folded, tuned, 1e-3, 1e-3)) << (folded - tuned).abs().max();
    // Integers stay the same, or are mirrored where a factor is negative.
    const Quantizer& quantizer = model.layer("conv").weight_quantizer();
    EXPECT_TRUE(quantizer.qparams().scale.gt(0).all().item<bool>());
    const at::Tensor after =
        quantize(*model.module().find_tensor("conv.weight"), quantizer.qparams(), quantizer.spec());
    const int64_t ends = quantizer.spec().is_symmetric() ? 0 : 15;
    const at::Tensor mirrored = network->find_tensor("bn.weight")->lt(0).view({-1, 1, 1, 1});
    EXPECT_TRUE(at::equal(after, at::where(mirrored, ends - integers, integers)));
  }
}

TEST(BatchNormTuning, WhatCannotBeFoldedStaysAndIsTold) {
  const auto network = normed();
  const at::Tensor x = at::randn({16, 3, 10, 10});
  QuantModel model =
      calibrated_with_norms(*network, x, tuning_config("per-channel-symmetric", "dorefa"));
  const auto left = model.batchnorm_tuning([&] { model.forward({x}); });
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].node, "bn");
  EXPECT_EQ(left[0].kind, DecisionKind::NormScaleFixed);
  EXPECT_EQ(norms_in(model), 3);
  QConfig one_scale = tuning_config();
  one_scale.weight.scheme->granularity = Granularity::PerTensor;
  QuantModel other = calibrated_with_norms(*network, x, one_scale);
  EXPECT_EQ(other.batchnorm_tuning([&] { other.forward({x}); }).at(0).kind,
            DecisionKind::NormOneScale);
}

/// A model with a norm over tokens instead of the layer's output channels, and an embedding.
class NormedTokens : public nn::Module {
 public:
  NormedTokens() : Module("NormedTokens", "x, i") {
    add_module("fc", nn::Linear(4, 6));
    add_module("bn", nn::BatchNorm1d(6));
    add_module("table", nn::Embedding(9, 6));
    add_module("bn2", nn::BatchNorm1d(6));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("bn", call("fc", in["x"])) + call("bn2", call("table", in["i"]));
  }
};

TEST(BatchNormTuning, OnlyNormsOfTheLayersChannelsAreFolded) {
  NormedTokens network;
  const at::Tensor x = at::randn({16, 6, 4}), i = at::randint(0, 9, {16, 6});
  QuantModel model(network, tuning_config(), {x, i});
  model.prepare_calibration();
  model.forward({x, i});
  model.calc_qparams();
  const auto left = model.batchnorm_tuning([&] { model.forward({x, i}); });
  ASSERT_EQ(left.size(), 2u);
  for (const Decision& decision : left) EXPECT_EQ(decision.kind, DecisionKind::NormOtherChannels);
}

/// -8 becomes 7, the nearest integer to the negated weight, which is half a step out of range.
TEST(BatchNormTuning, TheLowestIntegerIsMirroredToTheHighest) {
  const auto network = normed();
  const at::Tensor x = at::randn({16, 3, 10, 10});
  QuantModel model = calibrated_with_norms(*network, x, tuning_config());
  const auto integers = [&] {
    const Quantizer& now = model.layer("conv").weight_quantizer();
    EXPECT_TRUE(now.qparams().zero_point.eq(0).all().item<bool>());
    return quantize(*model.module().find_tensor("conv.weight"), now.qparams(), now.spec());
  };
  Quantizer& quantizer = model.layer("conv").weight_quantizer();
  quantizer.set_qparams({quantizer.qparams().scale * 0.8, quantizer.qparams().zero_point});
  const at::Tensor before = integers();
  model.batchnorm_tuning([&] { model.forward({x}); });
  const at::Tensor mirrored = network->find_tensor("bn.weight")->lt(0).view({-1, 1, 1, 1});
  EXPECT_TRUE(before.eq(-8).logical_and(mirrored).any().item<bool>());
  EXPECT_TRUE(at::equal(integers(), at::where(mirrored, (-before).clamp_max(7), before)));
}

TEST(BatchNormTuning, AFailureChangesNothing) {
  const auto network = normed();
  const at::Tensor x = at::randn({16, 3, 10, 10});
  QuantModel model = calibrated_with_norms(*network, x, tuning_config());
  const at::NoGradGuard no_gradients;
  const at::Tensor before = model.forward({x}).tensor();
  const auto fail = [&] {
    model.batchnorm_tuning([&] {
      model.forward({x});
      throw std::runtime_error("the disk is gone");
    });
  };
  EXPECT_THAT(fail, ThrowsMessage<std::runtime_error>("the disk is gone"));
  EXPECT_TRUE(at::equal(model.forward({x}).tensor(), before));
  EXPECT_EQ(norms_in(model), 3);
  EXPECT_THAT([&] { model.batchnorm_tuning([] {}); },
              ThrowsMessage<Error>(HasSubstr("a batch norm saw no data")));
  EXPECT_TRUE(at::equal(model.forward({x}).tensor(), before));
  // The statistics of the given model are not changed.
  EXPECT_TRUE(at::equal(*network->find_tensor("bn.running_mean"), at::zeros({8})));
}

TEST(BatchNormTuning, WithoutNormsItSaysWhatIsMissing) {
  const auto network = normed();
  const at::Tensor x = at::randn({4, 3, 10, 10});
  QConfig config = tuning_config();
  config.schedule = {.fuse_bn = true};
  QuantModel model = calibrated_with_norms(*network, x, config);
  EXPECT_THAT([&] { model.batchnorm_tuning([] {}); },
              ThrowsMessage<Error>(HasSubstr("SCHEDULE.BN_TUNING")));
}

}  // namespace
}  // namespace sparsebit::quant::calibration_test
