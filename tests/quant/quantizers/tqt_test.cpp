#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::tqt_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QuantSpec spec_of(Target target) {
  return {.target = target, .scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4};
}

QuantizerPtr tqt(Target target, double scale) {
  TensorConfig config;
  config.quantizer.type = "tqt";
  const QuantizerPtr quantizer = make_quantizer(spec_of(target), config);
  quantizer->set_qparams({at::full({}, scale, at::kFloat), at::zeros({})});
  quantizer->set_enabled(true);
  return quantizer;
}

/// The exported scale is the power of two of the simulation.
TEST(Tqt, TheEffectiveScaleIsTheScale) {
  const at::Tensor x = at::randn({1000});
  for (const Target target : {Target::Weight, Target::Activation}) {
    const QuantizerPtr quantizer = tqt(target, 0.2);
    EXPECT_EQ(quantizer->qparams().scale.item<float>(), 0.25f);
    EXPECT_EQ(quantizer->final_qparams().scale.item<float>(), 0.25f);
    EXPECT_TRUE(at::equal(quantizer->integers(x) * 0.25f, (*quantizer)(x).tensor()));
  }
}

/// Clipping depends on the rounded scale: 1.7 is clipped with 0.2, but not with 0.25.
TEST(Tqt, GradientsPassWhereNothingIsCutOff) {
  for (const Target target : {Target::Weight, Target::Activation}) {
    at::Tensor x = at::tensor({-3.f, -2.f, 0.1f, 1.7f, 1.9f});
    const QuantizerPtr quantizer = tqt(target, 0.2);
    x.requires_grad_();
    (*quantizer)(x).tensor().sum().backward();
    EXPECT_TRUE(at::equal(x.grad(), at::tensor({0.f, 1.f, 1.f, 1.f, 0.f})));
  }
}

TEST(Tqt, KeepsTheTypeAndNan) {
  const QuantizerPtr quantizer = tqt(Target::Activation, 0.2);
  const at::Tensor x = at::tensor({std::nanf(""), 0.3f});
  EXPECT_TRUE(at::isnan((*quantizer)(x).tensor()[0]).item<bool>());
  EXPECT_EQ((*quantizer)(x.to(at::kHalf)).tensor().scalar_type(), at::kHalf);
}

TEST(Tqt, NeedsOneScaleWithoutZeroPoint) {
  TensorConfig config;
  config.quantizer.type = "tqt";
  EXPECT_THAT([&] { make_quantizer({.scheme = scheme_from_text("per-tensor-affine")}, config); },
              ThrowsMessage<Error>(
                  HasSubstr("tqt needs QSCHEME per-tensor-symmetric, not per-tensor-affine")));
}

}  // namespace
}  // namespace sparsebit::quant::tqt_test
