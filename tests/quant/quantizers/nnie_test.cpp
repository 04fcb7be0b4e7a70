#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::nnie_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QuantizerPtr nnie(const at::Tensor& x) {
  TensorConfig config;
  config.quantizer.type = "nnie";
  const QuantizerPtr quantizer =
      make_quantizer({.scheme = scheme_from_text("per-tensor-symmetric")}, config);
  quantizer->observe(x);
  quantizer->calibrate();
  quantizer->set_enabled(true);
  return quantizer;
}

/// 127 negative values, 128 positive ones and zero; neighbours differ by a factor of 2 ** (1/16).
TEST(Nnie, MagnitudesAreRootsOfTwo) {
  at::manual_seed(6);
  const at::Tensor x = at::exp2(at::rand({100000}) * 12 - 10) * at::randn({100000}).sign();
  const QuantizerPtr quantizer = nnie(x);
  const at::Tensor y = (*quantizer)(x).tensor();
  EXPECT_EQ(std::get<0>(at::_unique(y)).numel(), 256);
  const at::Tensor large = x.abs().gt(x.abs().max() / 128);
  const at::Tensor ratio = (y / x).masked_select(large);
  EXPECT_LT(ratio.max().item<double>(), std::exp2(1. / 32) + 1e-4);
  EXPECT_GT(ratio.min().item<double>(), std::exp2(-1. / 32) - 1e-4);
}

TEST(Nnie, UnusualNumbers) {
  const QuantizerPtr quantizer = nnie(at::tensor({-4.f, 1.f}));
  const at::Tensor y =
      (*quantizer)(at::tensor({std::nanf(""), 0.f, HUGE_VALF, -HUGE_VALF})).tensor();
  EXPECT_TRUE(std::isnan(y[0].item<float>()));
  EXPECT_TRUE(at::equal(y.slice(0, 1), at::tensor({0.f, 4.f, -4.f})));
  EXPECT_EQ((*nnie(at::zeros({3})))(at::zeros({3})).tensor().abs().max().item<float>(), 0);
}

TEST(Nnie, HasNoScale) {
  const QuantizerPtr quantizer = nnie(at::tensor({-4.f, 1.f}));
  EXPECT_FALSE(quantizer->has_uniform_steps());
  const char* message =
      "quantizer type nnie has no uniform steps, so it has no scale and zero point";
  EXPECT_THAT([&] { quantizer->final_qparams(); }, ThrowsMessage<Error>(HasSubstr(message)));
  EXPECT_THAT([&] { quantizer->integers(at::ones({2})); },
              ThrowsMessage<Error>(HasSubstr(message)));
}

TEST(Nnie, Needs8Bits) {
  TensorConfig config;
  config.quantizer.type = "nnie";
  EXPECT_THAT(
      [&] {
        make_quantizer({.scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4}, config);
      },
      ThrowsMessage<Error>(HasSubstr("nnie needs 8 bits and per-tensor-symmetric, not 4 bits")));
}

}  // namespace
}  // namespace sparsebit::quant::nnie_test
