// Reference values computed by MQBench, for observers and quantizers with the same definition.

#include "sparsebit/quant/quantizers/adaround.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::mqbench_vectors_test {
namespace {

/// x[i] = (((37 i) mod 101) - 50) / 25
at::Tensor first_batch() {
  return (at::arange(64).mul(37).remainder(101) - 50).to(at::kFloat).div(25).view({1, 64});
}

at::Tensor second_batch() { return first_batch() * 0.5 + 0.25; }

/// W[c][j] = x[16 c + j] * (c + 1) / 4
at::Tensor weight() {
  const at::Tensor factors = (at::arange(4) + 1).to(at::kFloat).div(4).view({4, 1});
  return first_batch().view({4, 16}) * factors;
}

QuantSpec spec_of(const char* scheme, int bits) {
  return {.target = Target::Activation, .scheme = scheme_from_text(scheme), .bits = bits};
}

/// The columns of the table.
std::vector<QuantSpec> columns() {
  const char *symmetric = "per-tensor-symmetric", *affine = "per-tensor-affine";
  std::vector<QuantSpec> specs = {spec_of(symmetric, 8), spec_of(symmetric, 8),
                                  spec_of(affine, 8),    spec_of(symmetric, 4),
                                  spec_of(affine, 4),    spec_of(symmetric, 8)};
  specs[1].restricted = true;
  specs[5].pot_scale = true;
  return specs;
}

struct Numbers {
  double scale, zero_point = 0;
};

/// After both batches.
void check(const ObserverConfig& config, const std::vector<Numbers>& expected) {
  const std::vector<QuantSpec> specs = columns();
  ASSERT_EQ(specs.size(), expected.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    SCOPED_TRACE(c10::str(config.type, ", column ", i));
    const auto observer = make_observer(specs[i], config);
    observer->observe(first_batch());
    observer->observe(second_batch());
    const QParams found = observer->qparams();
    const double scale = expected[i].scale;
    EXPECT_NEAR(found.scale.item<double>(), scale,
                1.5e-7 * scale);  // one unit of float32 precision
    EXPECT_EQ(found.zero_point.item<double>(), expected[i].zero_point);
    const ValueRange range = observer->range();
    const QParams again = qparams_from_range(range.low, range.high, specs[i]);
    EXPECT_NEAR(again.scale.item<double>(), scale, 1e-6 * scale);
    EXPECT_EQ(again.zero_point.item<double>(), expected[i].zero_point);
  }
}

TEST(MqbenchVectors, MinMax) {
  check({.type = "minmax"}, {{0.015686275},
                             {0.015748031},
                             {0.015686275, 127},
                             {0.26666668},
                             {0.26666668, 7},
                             {0.015625}});
}

TEST(MqbenchVectors, MovingAverage) {
  check(
      {.type = "moving_average"},
      {{0.015098039}, {0.01515748}, {0.01490196, 126}, {0.25666666}, {0.25333333, 7}, {0.015625}});
}

TEST(MqbenchVectors, EmaQuantile) {
  check(
      {.type = "ema_quantile"},
      {{0.015094353}, {0.01515378}, {0.014898394, 126}, {0.25660402}, {0.25327271, 7}, {0.015625}});
}

/// MQBench takes the wider bounds.
TEST(MqbenchVectors, ClipStd) {
  check({.type = "clip_std", .std_widens = true}, {{0.014068722},
                                                   {0.014124111},
                                                   {0.012144703, 107},
                                                   {0.23916827},
                                                   {0.20645995, 6},
                                                   {0.015625}});
}

TEST(MqbenchVectors, LsqObserver) {
  check({.type = "lsq"},
        {{0.095834501}, {0.095834501}, {0.067632221, 11}, {0.40820161}, {0.27885479, 3}, {0.125}});
}

TEST(MqbenchVectors, BatchMse) {
  check({.type = "batch_mse"}, {{0.015686275},
                                {0.015748031},
                                {0.015686275, 127},
                                {0.26133335},
                                {0.26133335, 8},
                                {0.015625}});
}

TEST(MqbenchVectors, EmaMse) {
  check(
      {.type = "ema_mse"},
      {{0.015098039}, {0.01515748}, {0.01490196, 126}, {0.25169998}, {0.24853332, 7}, {0.015625}});
}

/// On the weight.
QParams qparams_by_channel(const char* observer, QuantSpec spec) {
  spec.target = Target::Weight;
  const auto made = make_observer(spec, {.type = observer});
  made->observe(weight());
  return made->qparams();
}

bool near(const at::Tensor& found, const std::vector<double>& expected) {
  return at::allclose(found.flatten(), at::tensor(expected).to(at::kFloat), 1e-6, 1e-6);
}

TEST(MqbenchVectors, Channels) {
  QuantSpec restricted = spec_of("per-channel-symmetric", 8);
  restricted.restricted = true;
  EXPECT_TRUE(near(qparams_by_channel("minmax", restricted).scale,
                   {0.0039370079, 0.0078740157, 0.011338582, 0.015433071}));
  EXPECT_TRUE(near(qparams_by_channel("lsq", spec_of("per-channel-symmetric", 8)).scale,
                   {0.044700589, 0.092506923, 0.13510004, 0.18412648}));
  const QParams mse = qparams_by_channel("batch_mse", spec_of("per-channel-affine", 4));
  EXPECT_TRUE(near(mse.scale, {0.059533335, 0.12157334, 0.17835999, 0.24815999}));
  EXPECT_TRUE(near(mse.zero_point, {8, 7, 8, 7}));
}

/// Exponents e of the scales 2^-e after each of the batches x, x2, 3 x, x2.
std::vector<int> exponents(const char* observer, Target target, bool network_input = false) {
  QuantSpec spec = spec_of("per-tensor-symmetric", 8);
  spec.target = target;
  const auto made = make_observer(spec, {.type = observer, .network_input = network_input});
  std::vector<int> found;
  for (const at::Tensor& x : {first_batch(), second_batch(), first_batch() * 3, second_batch()}) {
    made->observe(x);
    const double scale = made->qparams().scale.item<double>();
    EXPECT_EQ(scale, std::exp2(std::log2(scale)));
    found.push_back(static_cast<int>(-std::log2(scale)));
  }
  return found;
}

TEST(MqbenchVectors, MinMaxFloor) {
  using testing::ElementsAre;
  EXPECT_THAT(exponents("min_max_floor", Target::Activation, true), ElementsAre(5, 6, 4, 6));
  EXPECT_THAT(exponents("min_max_floor", Target::Activation), ElementsAre(6, 6, 4, 6));
  EXPECT_THAT(exponents("min_max_floor", Target::Weight), ElementsAre(6, 6, 4, 6));
}

TEST(MqbenchVectors, PotMode) {
  using testing::ElementsAre;
  EXPECT_THAT(exponents("pot_mode", Target::Activation, true), ElementsAre(5, 5, 4, 6));
  EXPECT_THAT(exponents("pot_mode", Target::Activation), ElementsAre(6, 6, 6, 6));
}

// --- quantizers, each on X, with the sum of the results as loss ---------------------------------

at::Tensor x_values() {
  return at::tensor({-1.5, -0.6, -0.25, -0.1, 0., 0.05, 0.3, 0.74, 1.2, 3.0}).to(at::kFloat);
}

QuantizerPtr quantizer_with(const char* type, const char* scheme, const at::Tensor& scale,
                            const at::Tensor& zero_point, Target target = Target::Activation) {
  TensorConfig config;
  config.quantizer.type = type;
  config.quantizer.bits = 4;
  config.quantizer.pact_alpha = 1;
  const QuantizerPtr quantizer =
      make_quantizer({.target = target, .scheme = scheme_from_text(scheme), .bits = 4}, config);
  quantizer->set_qparams({scale, zero_point});
  quantizer->set_enabled(true);
  return quantizer;
}

at::Tensor run(Quantizer& quantizer, at::Tensor& x) {
  x.requires_grad_();
  at::Tensor y = quantizer(x).tensor();
  y.sum().backward();
  return y.detach();
}

TEST(MqbenchVectors, FixedScale) {
  at::Tensor x = x_values();
  const auto quantizer =
      quantizer_with("uniform", "per-tensor-symmetric", at::full({}, 0.2f), at::zeros({}));
  EXPECT_TRUE(near(run(*quantizer, x), {-1.6, -0.6, -0.2, 0, 0, 0, 0.4, 0.8, 1.2, 1.4}));
  EXPECT_TRUE(near(x.grad(), {1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
}

TEST(MqbenchVectors, LearnedScale) {
  at::Tensor x = x_values();
  const auto quantizer =
      quantizer_with("lsq", "per-tensor-symmetric", at::full({}, 0.2f), at::zeros({}));
  EXPECT_TRUE(near(run(*quantizer, x), {-1.6, -0.6, -0.2, 0, 0, 0, 0.4, 0.8, 1.2, 1.4}));
  EXPECT_NEAR(quantizer->find_tensor("scale")->grad().item<double>(), 0.9322782, 1e-6);
}

TEST(MqbenchVectors, LearnedScalePerChannel) {
  at::Tensor x = at::stack({x_values(), 2 * x_values()});
  const auto quantizer = quantizer_with("lsq", "per-channel-symmetric", at::tensor({0.2f, 0.3f}),
                                        at::zeros({2}), Target::Weight);
  EXPECT_TRUE(near(run(*quantizer, x)[1], {-2.4, -1.2, -0.6, -0.3, 0, 0, 0.6, 1.5, 2.1, 2.1}));
  EXPECT_TRUE(near(quantizer->find_tensor("scale")->grad(), {0.9322782, 0.6055825}));
}

/// z = 6.3 counts as 6.
TEST(MqbenchVectors, LearnedScaleAndZeroPoint) {
  at::Tensor x = x_values();
  const auto quantizer =
      quantizer_with("lsq+", "per-tensor-affine", at::full({}, 0.2f), at::full({}, 6.3f));
  EXPECT_TRUE(near(run(*quantizer, x), {-1.2, -0.6, -0.2, 0, 0, 0, 0.4, 0.8, 1.2, 1.8}));
  EXPECT_NEAR(quantizer->find_tensor("scale")->grad().item<double>(), 0.3510935, 1e-6);
  EXPECT_NEAR(quantizer->find_tensor("zero_point")->grad().item<double>(), -0.03265987, 1e-6);
}

TEST(MqbenchVectors, Pact) {
  at::Tensor x = x_values();
  TensorConfig config;
  config.quantizer.type = "pact";
  config.quantizer.bits = 4;
  config.quantizer.pact_alpha = 1;
  const QuantizerPtr quantizer =
      make_quantizer({.scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4}, config);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  EXPECT_TRUE(near(run(*quantizer, x), {-0.9333334, -0.5333334, -0.2666667, -0.1333333, 0, 0,
                                        0.2666667, 0.8, 0.9333334, 0.9333334}));
  // Two values are clipped above, one below.
  EXPECT_NEAR(quantizer->find_tensor("alpha")->grad().item<double>(), 1, 1e-6);
}

TEST(MqbenchVectors, Dsq) {
  at::Tensor x = x_values();
  const auto quantizer =
      quantizer_with("dsq", "per-tensor-symmetric", at::full({}, 0.2f), at::zeros({}));
  EXPECT_TRUE(near(run(*quantizer, x), {-1.6, -0.6, -0.2, 0, 0, 0, 0.4, 0.8, 1.2, 1.4}));
  EXPECT_TRUE(near(x.grad(), {1.155245, 0.739357, 1.026885, 1.155245, 0.739357, 1.026885, 1.155245,
                              1.070799, 0.739357, 0}));
}

/// The scale 0.2 counts as 0.25.
TEST(MqbenchVectors, Tqt) {
  at::Tensor x =
      at::tensor({-1.5, -0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.74, 1.2, 3.}).to(at::kFloat);
  std::vector<double> expected = {-1.5, -0.5, -0.25, 0, 0, 0.5, 0.5, 0.75, 1.25, 1.75};
  const auto activation =
      quantizer_with("tqt", "per-tensor-symmetric", at::full({}, 0.2f), at::zeros({}));
  EXPECT_TRUE(near(run(*activation, x), expected));
  const auto parameter = quantizer_with("tqt", "per-tensor-symmetric", at::full({}, 0.2f),
                                        at::zeros({}), Target::Weight);
  expected[2] = -0.5;
  EXPECT_TRUE(near(run(*parameter, x), expected));
}

TEST(MqbenchVectors, Nnie) {
  TensorConfig config;
  config.quantizer.type = "nnie";
  const QuantizerPtr quantizer =
      make_quantizer({.scheme = scheme_from_text("per-tensor-symmetric")}, config);
  at::Tensor x = at::tensor({-3., -1., -0.01, -0.005, -0.001, 0., 0.0005, 0.001, 0.01, 0.5, 3.})
                     .to(at::kFloat);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  EXPECT_TRUE(near(run(*quantizer, x),
                   {-2.953652, -1, -0.01258196, 0, 0, 0, 0, 0, 0.01204852, 0.5, 2.953652}));
  EXPECT_TRUE(near(x.grad(), std::vector<double>(11, 1.)));
}

TEST(MqbenchVectors, Dorefa) {
  const at::Tensor x = x_values();
  TensorConfig config;
  config.quantizer.type = "dorefa";
  config.quantizer.bits = 4;
  const QuantizerPtr quantizer = make_quantizer(
      {.target = Target::Weight, .scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4},
      config);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  const at::Tensor expected = at::tensor({-0.9333239, -0.5333279, -0.266664, -0.133332, 0., 0.,
                                          0.266664, 0.66666, 0.7999919, 0.9333239})
                                  .to(at::kFloat);
  // MQBench adds an epsilon to the divisor: its result is 0.99999 of ours.
  EXPECT_TRUE(at::allclose((*quantizer)(x).tensor(), expected, 2e-5, 1e-6));
}

TEST(MqbenchVectors, Adaround) {
  const at::Tensor x = x_values();
  TensorConfig config;
  config.quantizer.type = "adaround";
  config.quantizer.bits = 4;
  Adaround quantizer(
      {.target = Target::Weight, .scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4},
      config);
  quantizer.set_qparams({at::full({}, 0.2f), at::zeros({})});
  quantizer.start(x);
  quantizer.set_enabled(true);
  const at::NoGradGuard no_gradients;
  quantizer.train();
  EXPECT_TRUE(near(quantizer(x).tensor(), {-1.5, -0.6, -0.25, -0.1, 0, 0.05, 0.3, 0.74, 1.2, 1.4}));
  const at::Tensor& v = *quantizer.find_tensor("v");
  EXPECT_NEAR(v[1].item<double>(), -2.397895, 1e-2);  // 0.6 / 0.2 is not quite 3 in float32
  EXPECT_NEAR(v[2].item<double>(), 0.8873034, 1e-5);
  EXPECT_NEAR(v[5].item<double>(), -0.8873033, 1e-5);
  EXPECT_NEAR(v[7].item<double>(), 0.6931474, 1e-5);
}

}  // namespace
}  // namespace sparsebit::quant::mqbench_vectors_test
