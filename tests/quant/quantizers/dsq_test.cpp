#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::dsq_test {
namespace {

QuantizerPtr dsq(const QuantSpec& spec, double alpha, const at::Tensor& x) {
  TensorConfig config;
  config.quantizer.type = "dsq";
  config.quantizer.dsq_alpha = alpha;
  const QuantizerPtr quantizer = make_quantizer(spec, config);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  return quantizer;
}

TEST(Dsq, RoundsAsUsual) {
  const QuantSpec spec{
      .target = Target::Weight, .scheme = scheme_from_text("per-channel-affine"), .bits = 4};
  const at::Tensor x = at::randn({3, 50}).requires_grad_();
  const QuantizerPtr quantizer = dsq(spec, 0.4, x);
  EXPECT_TRUE(at::equal((*quantizer)(x).tensor().detach(),
                        fake_quant(x.detach(), quantizer->qparams(), spec)));
}

/// With a small alpha the slope is concentrated in the middle of a step; its mean over a step is 1.
TEST(Dsq, AlphaIsHowSoftStepsAre) {
  const QuantSpec spec{.scheme = scheme_from_text("per-tensor-affine"), .bits = 2};
  for (const double alpha : {0.01, 0.4, 0.9}) {
    SCOPED_TRACE(alpha);
    at::Tensor x = at::linspace(0, 3, 3001);
    const QuantizerPtr quantizer = dsq(spec, alpha, x);
    x.requires_grad_();
    (*quantizer)(x).tensor().sum().backward();
    EXPECT_NEAR(x.grad().mean().item<double>(), 1, 0.01);
    const double middle = x.grad()[500].item<double>(), end = x.grad()[5].item<double>();
    EXPECT_GT(middle, 1);
    EXPECT_LT(end, 1);
    EXPECT_NEAR(end / middle, 1 - (1 - alpha) * (1 - alpha), 0.03);
  }
}

}  // namespace
}  // namespace sparsebit::quant::dsq_test
