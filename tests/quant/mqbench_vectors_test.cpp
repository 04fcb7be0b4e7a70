// Numbers that MQBench gives, for what is defined alike here: the other ancestor's arithmetic.

#include "sparsebit/quant/quantizers/adaround.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::mqbench_vectors_test {
namespace {

/// x[i] = (((37 i) mod 101) - 50) / 25
at::Tensor first_batch() {
  return (at::arange(64).mul(37).remainder(101) - 50).to(at::kFloat).div(25).view({1, 64});
}

struct Case {
  const char* scheme;
  int bits;
  bool restricted;
  double scale, zero_point;
};

QParams qparams_of(const char* observer, const Case& c) {
  const QuantSpec spec{.target = Target::Feature,
                       .scheme = scheme_from_text(c.scheme),
                       .bits = c.bits,
                       .restricted = c.restricted};
  ObserverConfig config;
  config.type = observer;
  const auto made = make_observer(spec, config);
  made->observe(first_batch());
  made->observe(first_batch() * 0.5 + 0.25);
  return made->qparams();
}

void check(const char* observer, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(observer) + " " + c.scheme + " " + std::to_string(c.bits));
    const QParams found = qparams_of(observer, c);
    EXPECT_NEAR(found.scale.item<double>(), c.scale, 1e-7 * c.scale + 1e-9);
    EXPECT_EQ(found.zero_point.item<double>(), c.zero_point);
  }
}

TEST(MqbenchVectors, MinMax) {
  check("minmax", {{"per-tensor-symmetric", 8, false, 0.015686275, 0},
                   {"per-tensor-symmetric", 8, true, 0.015748031, 0},
                   {"per-tensor-affine", 8, false, 0.015686275, 127},
                   {"per-tensor-symmetric", 4, false, 0.26666668, 0},
                   {"per-tensor-affine", 4, false, 0.26666668, 7}});
}

TEST(MqbenchVectors, MovingAverage) {
  check("moving_average", {{"per-tensor-symmetric", 8, false, 0.015098039, 0},
                           {"per-tensor-symmetric", 8, true, 0.01515748, 0},
                           {"per-tensor-affine", 8, false, 0.01490196, 126},
                           {"per-tensor-symmetric", 4, false, 0.25666666, 0},
                           {"per-tensor-affine", 4, false, 0.25333333, 7}});
}

TEST(MqbenchVectors, MinMaxPerChannel) {
  const QuantSpec spec{.target = Target::Weight,
                       .scheme = scheme_from_text("per-channel-symmetric"),
                       .bits = 8,
                       .restricted = true};
  const auto observer = make_observer(spec, {});
  const at::Tensor factors = (at::arange(4) + 1).to(at::kFloat).div(4).view({4, 1});
  observer->observe(first_batch().view({4, 16}) * factors);
  const at::Tensor expected = at::tensor({0.0039370079, 0.0078740157, 0.011338582, 0.015433071});
  EXPECT_TRUE(at::allclose(observer->qparams().scale, expected.to(at::kFloat), 1e-6, 0));
}

// --- quantizers, each on X, with the sum of the results as loss ---------------------------------

at::Tensor x_values() {
  return at::tensor({-1.5, -0.6, -0.25, -0.1, 0., 0.05, 0.3, 0.74, 1.2, 3.0}).to(at::kFloat);
}

QuantizerPtr quantizer_with(const char* type, const char* scheme, const at::Tensor& scale,
                            const at::Tensor& zero_point, Target target = Target::Feature) {
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

bool near(const at::Tensor& found, const std::vector<double>& expected) {
  return at::allclose(found.flatten(), at::tensor(expected).to(at::kFloat), 1e-6, 1e-6);
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
  // Two are cut above, one below.
  EXPECT_NEAR(quantizer->find_tensor("alpha")->grad().item<double>(), 1, 1e-6);
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
  // There, a little is added to the divisor: 0.99999 of what we have.
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
