#include "quant/kernels/dpu_arithmetic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::dpu_arithmetic_test {
namespace {

TEST(DpuArithmetic, ScalesAreRoundedUp) {
  EXPECT_EQ(dpu_exponent(0.2), 2);
  EXPECT_EQ(dpu_exponent(0.25), 2);
  EXPECT_EQ(dpu_exponent(std::nextafter(0.25, 1)), 1);
  EXPECT_EQ(dpu_exponent(300), -9);
  EXPECT_EQ(dpu_exponent(1e-9), 15);
  EXPECT_EQ(dpu_exponent(0), 15);
  EXPECT_EQ(dpu_scale(-9), 512);
  EXPECT_EQ(dpu_scale(2), 0.25);
}

TEST(DpuArithmetic, OnlyNegativeHalvesGoTowardZero) {
  const at::Tensor x = at::tensor({-2.5f, -1.5f, -0.5f, -0.50001f, -1.4f, 0.5f, 1.5f, 2.5f, 7.f});
  const at::Tensor expected = at::tensor({-2.f, -1.f, 0.f, -1.f, -1.f, 0.f, 2.f, 2.f, 7.f});
  EXPECT_TRUE(at::equal(dpu_round(x), expected));
  EXPECT_TRUE(at::isnan(dpu_round(at::tensor(std::nanf("")))).item<bool>());
}

}  // namespace
}  // namespace sparsebit::quant::dpu_arithmetic_test
