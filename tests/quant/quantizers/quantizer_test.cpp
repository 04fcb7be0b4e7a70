#include "sparsebit/quant/quantizers/quantizer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/adaround.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::quantizer_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QuantSpec spec_of(Target target, const char* scheme, int bits = 8) {
  return {.target = target,
          .scheme = scheme_from_text(scheme),
          .bits = bits,
          .channel_axis = target == Target::Weight ? 0 : 1};
}

QuantizerPtr make(const char* type, const QuantSpec& spec) {
  TensorConfig config;
  config.quantizer.type = type;
  config.quantizer.bits = spec.bits;
  return make_quantizer(spec, config);
}

QuantizerPtr calibrated(const char* type, const QuantSpec& spec, const at::Tensor& x) {
  const QuantizerPtr quantizer = make(type, spec);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  return quantizer;
}

at::Tensor call(Quantizer& quantizer, const at::Tensor& x) { return quantizer(x).tensor(); }

const std::vector<std::string> kTypes = {"uniform", "dorefa",   "lsq", "lsq+",
                                         "pact",    "adaround", "dsq", "tqt"};

QuantSpec fitting_spec(const std::string& type) {
  if (type == "adaround") return spec_of(Target::Weight, "per-channel-symmetric");
  if (type == "tqt") return spec_of(Target::Activation, "per-tensor-symmetric");
  return spec_of(Target::Activation, "per-tensor-affine");
}

// --- all of them --------------------------------------------------------------------------------

TEST(Quantizers, LifeCycle) {
  const at::Tensor x = at::rand({4, 6});
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    const QuantizerPtr quantizer = make(type.c_str(), fitting_spec(type));
    EXPECT_TRUE(call(*quantizer, x).is_same(x));  // disabled: returns its input
    EXPECT_THAT([&] { quantizer->set_enabled(true); },
                ThrowsMessage<Error>(HasSubstr("it is not calibrated")));
    quantizer->observe(x);
    quantizer->calibrate();
    EXPECT_TRUE(call(*quantizer, x).is_same(x));
    quantizer->set_enabled(true);
    const at::Tensor simulated = call(*quantizer, x);
    EXPECT_FALSE(at::equal(simulated, x));
    const auto copy = std::static_pointer_cast<Quantizer>(quantizer->clone());
    EXPECT_TRUE(at::equal(call(*copy, x), simulated));
    quantizer->set_enabled(false);
    EXPECT_TRUE(call(*quantizer, x).is_same(x));
    EXPECT_FALSE(at::equal(call(*copy, x), x));
    copy->switch_off("switched off by the test");
    EXPECT_TRUE(call(*copy, x).is_same(x));
    EXPECT_EQ(copy->summary(), "float, switched_off");
    EXPECT_EQ(copy->why_off()->other, "switched off by the test");
  }
}

/// Outputs have at most as many distinct values as there are integers.
TEST(Quantizers, ResultsAreOnTheGrid) {
  const at::Tensor x = at::randn({3, 500}).abs();
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    QuantSpec spec = fitting_spec(type);
    spec.bits = 2;
    const QuantizerPtr quantizer = calibrated(type.c_str(), spec, x);
    quantizer->eval();
    const at::Tensor row = call(*quantizer, x)[0];
    EXPECT_LE(std::get<0>(at::_unique(row)).numel(), 4);
  }
}

TEST(Quantizers, ADisabledOneNeverQuantizes) {
  TensorConfig config;
  config.quantizer.disable = true;
  const QuantizerPtr quantizer =
      make_quantizer(spec_of(Target::Activation, "per-tensor-affine"), config);
  quantizer->observe(at::ones({2}));
  quantizer->calibrate();
  quantizer->set_enabled(true);
  EXPECT_FALSE(quantizer->is_enabled());
  EXPECT_EQ(quantizer->why_off()->kind, DecisionKind::ActivationDisabled);
}

TEST(Quantizers, BitsCanBeChanged) {
  const QuantizerPtr quantizer =
      make("uniform", spec_of(Target::Activation, "per-tensor-affine", 4));
  quantizer->set_bits(8);
  quantizer->observe(at::linspace(0, 1, 256));
  quantizer->calibrate();
  EXPECT_FLOAT_EQ(quantizer->qparams().scale.item<float>(), 1.f / 255);
  EXPECT_EQ(quantizer->summary(), "uint8 per-tensor-affine minmax");
  EXPECT_THROW(quantizer->set_bits(1), Error);
  quantizer->set_enabled(true);
  quantizer->set_bits(4);
  EXPECT_FALSE(quantizer->is_enabled());
  EXPECT_THROW(quantizer->set_enabled(true), Error);
}

TEST(Quantizers, OtherBitsHaveAllOfTheirIntegers) {
  QuantSpec spec = spec_of(Target::Weight, "per-tensor-symmetric");
  spec.range = {-64, 63};
  const QuantizerPtr quantizer = make("uniform", spec);
  EXPECT_EQ(quantizer->summary(), "int8 [-64, 63] per-tensor-symmetric minmax");
  quantizer->set_bits(4);
  EXPECT_EQ(quantizer->spec().qmin(), -8);
  EXPECT_EQ(quantizer->summary(), "int4 per-tensor-symmetric minmax");
}

TEST(Quantizers, LearnedIntegersReplaceRounding) {
  const at::Tensor x = at::randn({3, 5});
  const QuantizerPtr quantizer =
      calibrated("gptq", spec_of(Target::Weight, "per-channel-symmetric", 4), x);
  const at::Tensor nearest = quantizer->integers(x), other = (nearest - 1).clamp(-8, 7);
  quantizer->set_integers(other);
  const auto copy = std::dynamic_pointer_cast<Quantizer>(quantizer->clone());
  for (const QuantizerPtr& q : {quantizer, copy}) {
    EXPECT_TRUE(at::equal(q->integers(x), other));
    const at::Tensor scale = q->qparams().scale.unsqueeze(1);
    EXPECT_TRUE(at::equal((*q)(x).tensor(), other * scale));
    q->set_enabled(false);
    EXPECT_TRUE(at::equal((*q)(x).tensor(), x));
  }
  EXPECT_THROW(quantizer->set_integers(at::full({3, 5}, 8)), Error);
  quantizer->set_qparams(quantizer->qparams());
  EXPECT_TRUE(at::equal(quantizer->integers(x), nearest)) << "new scales, new integers";
}

// --- each by itself -----------------------------------------------------------------------------

TEST(Uniform, IsFakeQuant) {
  const QuantSpec spec = spec_of(Target::Weight, "per-channel-symmetric", 4);
  const at::Tensor x = at::randn({3, 5, 2, 2});
  const QuantizerPtr quantizer = calibrated("uniform", spec, x);
  EXPECT_EQ(quantizer->qparams().scale.sizes(), at::IntArrayRef({3}));
  EXPECT_TRUE(at::equal(call(*quantizer, x), fake_quant_reference(x, quantizer->qparams(), spec)));
}

TEST(DoReFa, QuantizesTanh) {
  const QuantSpec spec = spec_of(Target::Weight, "per-tensor-symmetric", 4);
  const at::Tensor x = at::randn({50}) * 3;
  const QuantizerPtr quantizer = calibrated("dorefa", spec, x);
  const at::Tensor t = at::tanh(x) / at::tanh(x).abs().max();
  EXPECT_FLOAT_EQ(quantizer->qparams().scale.item<float>(), 2.f / 15);
  EXPECT_TRUE(
      at::allclose(call(*quantizer, x), fake_quant_reference(t, quantizer->qparams(), spec)));
}

// The result of a sample does not depend on its batch.
TEST(DoReFa, ActivationsHaveAFixedDivisor) {
  const QuantSpec spec = spec_of(Target::Activation, "per-tensor-affine", 4);
  const at::Tensor x = at::rand({4, 10});
  const QuantizerPtr quantizer = calibrated("dorefa", spec, x);
  const at::Tensor all = call(*quantizer, x);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(at::equal(call(*quantizer, x.narrow(0, i, 1)), all.narrow(0, i, 1)));
}

TEST(DoReFa, CalibratingAgainStartsAnew) {
  const QuantSpec spec = spec_of(Target::Activation, "per-tensor-affine");
  const QuantizerPtr quantizer = calibrated("dorefa", spec, at::full({4}, 3.f));
  EXPECT_THROW(quantizer->observe(at::full({4}, std::nanf(""))), Error);
  quantizer->observe(at::tensor({0.f, 0.1f}));
  quantizer->calibrate();
  EXPECT_NEAR(quantizer->qparams().scale.item<double>() * 255, 1, 1e-5);
}

TEST(Pact, KeepsShapeAndTypeAndNeedsData) {
  const QuantSpec spec = spec_of(Target::Activation, "per-tensor-affine");
  const QuantizerPtr quantizer = make("pact", spec);
  EXPECT_THAT([&] { quantizer->calibrate(); }, ThrowsMessage<Error>(HasSubstr("no data was seen")));
  quantizer->observe(at::rand({4}));
  quantizer->calibrate();
  quantizer->set_enabled(true);
  EXPECT_EQ(call(*quantizer, at::full({}, 0.5f)).dim(), 0);
  EXPECT_EQ(call(*quantizer, at::rand({4}).to(at::kHalf)).scalar_type(), at::kHalf);
}

/// Gradient scaling does not change the scale in forward(), so results do not depend on the batch.
TEST(Lsq, ResultsDoNotDependOnTheBatch) {
  const QuantSpec spec = spec_of(Target::Activation, "per-tensor-affine", 4);
  for (int i = 0; i < 50; ++i) {
    const at::Tensor x = at::rand({8, 30});
    const QuantizerPtr quantizer = calibrated("lsq", spec, x);
    EXPECT_TRUE(at::equal(call(*quantizer, x)[0], call(*quantizer, x.narrow(0, 0, 1))[0]));
    EXPECT_TRUE(at::equal(call(*quantizer, x), fake_quant(x, quantizer->qparams(), spec)));
  }
}

TEST(Lsq, StartsAtTheMeanMagnitude) {
  const at::Tensor x = at::randn({3, 40});
  const QuantizerPtr per_channel =
      calibrated("lsq", spec_of(Target::Weight, "per-channel-symmetric", 4), x);
  EXPECT_TRUE(at::allclose(per_channel->qparams().scale, 2 * x.abs().mean(1) / std::sqrt(7.)));
  EXPECT_TRUE(per_channel->qparams().scale.requires_grad());
  EXPECT_FALSE(per_channel->qparams().zero_point.requires_grad());
  // Negative values switch to a symmetric scheme.
  const QuantizerPtr affine =
      calibrated("lsq", spec_of(Target::Activation, "per-tensor-affine", 4), x);
  EXPECT_EQ(affine->spec().scheme, scheme_from_text("per-tensor-symmetric"));
}

TEST(Lsq, ScalesTheGradientOfItsScale) {
  const QuantSpec spec = spec_of(Target::Activation, "per-tensor-symmetric", 4);
  const at::Tensor x = at::randn({100}).requires_grad_();
  const QuantizerPtr quantizer = calibrated("lsq", spec, x);
  call(*quantizer, x).sum().backward();
  const at::Tensor scale = quantizer->qparams().scale;
  const at::Tensor plain = scale.detach().clone().requires_grad_();
  fake_quant(x.detach(), {plain, at::zeros({})}, spec).sum().backward();
  EXPECT_NEAR(scale.grad().item<double>(), plain.grad().item<double>() / std::sqrt(100. * 7), 1e-5);
  EXPECT_TRUE(x.grad().eq(0).logical_or(x.grad().eq(1)).all().item<bool>());
}

TEST(LsqPlus, StartsAtThreeSigmaOrWhereTheObserverSays) {
  const at::Tensor x = at::randn({3, 400}) + 1;
  const QuantSpec channels = spec_of(Target::Weight, "per-channel-symmetric", 4);
  const at::Tensor mean = x.mean(1), sigma = x.std(1);
  const at::Tensor reach = at::maximum((mean - 3 * sigma).abs(), (mean + 3 * sigma).abs());
  EXPECT_TRUE(at::allclose(calibrated("lsq+", channels, x)->qparams().scale, 2 * reach / 15));
  const QuantizerPtr tensor =
      calibrated("lsq+", spec_of(Target::Activation, "per-tensor-affine"), x);
  EXPECT_TRUE(tensor->qparams().scale.requires_grad());
  EXPECT_TRUE(tensor->qparams().zero_point.requires_grad());
  EXPECT_FLOAT_EQ(tensor->qparams().scale.item<float>(), ((x.max() - x.min()) / 255).item<float>());
  EXPECT_THROW(make("lsq+", spec_of(Target::Activation, "per-tensor-symmetric")), Error);
}

/// Where x is clipped, the limit gets the gradient: with its sign at the upper end, with the
/// opposite sign at the lower end.
TEST(Pact, TrainsItsLimit) {
  for (const char* scheme : {"per-tensor-affine", "per-tensor-symmetric"}) {
    SCOPED_TRACE(scheme);
    const bool is_signed = std::string(scheme) == "per-tensor-symmetric";
    const at::Tensor x = at::tensor({-20., -1., 3., 12., 30.}).to(at::kFloat).requires_grad_();
    const QuantizerPtr quantizer = calibrated("pact", spec_of(Target::Activation, scheme), x);
    const at::Tensor weights = at::tensor({1., 2., 3., 4., 5.}).to(at::kFloat);
    const at::Tensor y = call(*quantizer, x);
    (y * weights).sum().backward();
    EXPECT_NEAR(y[4].item<double>(), 10, 0.05);
    EXPECT_NEAR(y[0].item<double>(), is_signed ? -10 : 0, 0.05);
    const at::Tensor alpha = *quantizer->find_tensor("alpha");
    EXPECT_FLOAT_EQ(alpha.grad().item<float>(), is_signed ? 4 + 5 - 1 : 4 + 5);
    EXPECT_EQ(x.grad()[2].item<float>(), 3);
    EXPECT_EQ(x.grad()[4].item<float>(), 0);
  }
}

/// The published constants.
TEST(Adaround, StartsWhereTheWeightsAre) {
  const QuantSpec spec = spec_of(Target::Weight, "per-tensor-symmetric");
  const at::Tensor weight = at::tensor({1.0, 1.25, 1.5, 1.75, 127.5}).to(at::kFloat).view({1, 5});
  const auto quantizer = std::static_pointer_cast<Adaround>(calibrated("adaround", spec, weight));
  EXPECT_FLOAT_EQ(quantizer->qparams().scale.item<float>(), 1);
  quantizer->start(weight);
  const at::Tensor v = quantizer->find_tensor("v")->detach();
  EXPECT_TRUE(at::allclose(
      v.narrow(1, 0, 4),
      at::tensor({-2.3978953, -0.8873032, 0., 0.8873032}).to(at::kFloat).view({1, 4}), 1e-5, 1e-5));
  quantizer->train();
  EXPECT_TRUE(at::allclose(call(*quantizer, weight).narrow(1, 0, 4), weight.narrow(1, 0, 4)));
  quantizer->eval();
  EXPECT_TRUE(at::equal(call(*quantizer, weight),
                        at::tensor({1., 1., 2., 2., 127.}).to(at::kFloat).view({1, 5})));
}

/// For any channel axis, and with groups.
TEST(Adaround, StartsWhereWeightsOfAnyShapeAre) {
  QuantSpec transposed = spec_of(Target::Weight, "per-channel-symmetric", 4);
  transposed.channel_axis = 1;
  QuantSpec groups = spec_of(Target::Weight, "per-channel-symmetric", 4);
  groups.group_size = 2;
  for (const QuantSpec& spec : {transposed, groups}) {
    const at::Tensor weight = at::randn({6, 4, 3, 3});
    const auto quantizer = std::static_pointer_cast<Adaround>(calibrated("adaround", spec, weight));
    quantizer->start(weight);
    quantizer->train();
    const at::Tensor scale = spread_over(quantizer->qparams().scale, weight, spec);
    const at::Tensor expected = at::maximum(at::minimum(weight, 7 * scale), -8 * scale);
    EXPECT_TRUE(at::allclose(call(*quantizer, weight).detach(), expected, 1e-4, 1e-5));
  }
}

TEST(Adaround, TrainsTheRounding) {
  const at::Tensor weight = at::randn({3, 4});
  const auto quantizer = std::static_pointer_cast<Adaround>(
      calibrated("adaround", spec_of(Target::Weight, "per-channel-symmetric", 4), weight));
  quantizer->start(weight);
  quantizer->train();
  call(*quantizer, weight).sum().backward();
  EXPECT_TRUE(quantizer->find_tensor("v")->grad().defined());
  EXPECT_THROW(make("adaround", spec_of(Target::Activation, "per-tensor-affine")), Error);
}

}  // namespace
}  // namespace sparsebit::quant::quantizer_test
