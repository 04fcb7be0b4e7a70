#include "sparsebit/quant/spec/qparams.h"

#include "sparsebit/quant/kernels/fake_quant.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::qparams_test {
namespace {

QuantSpec spec_of(const char* scheme, std::optional<IntegerRange> range = {}) {
  return {.scheme = scheme_from_text(scheme), .range = range};
}

QParams qparams_of(double low, double high, const QuantSpec& spec) {
  return qparams_from_range(at::full({}, low), at::full({}, high), spec);
}

TEST(QParams, IntegersOfARange) {
  const QuantSpec narrow = spec_of("per-tensor-symmetric", IntegerRange{-64, 63});
  EXPECT_FLOAT_EQ(qparams_of(-1, 0.5, narrow).scale.item<float>(), 1 / 63.5);
  const QuantSpec affine = spec_of("per-tensor-affine", IntegerRange{-128, 127});
  const QParams found = qparams_of(-1, 3, affine);
  EXPECT_FLOAT_EQ(found.scale.item<float>(), 4. / 255);
  EXPECT_EQ(found.zero_point.item<float>(), -128 + 64);
}

/// All 256 integers are used; MQBench uses half of them here.
TEST(QParams, UnsignedAndSymmetric) {
  const QuantSpec spec = spec_of("per-tensor-symmetric", IntegerRange{0, 255});
  const QParams found = qparams_of(0, 2, spec);
  EXPECT_FLOAT_EQ(found.scale.item<float>(), 2. / 255);
  EXPECT_EQ(found.zero_point.item<float>(), 0);
  EXPECT_EQ(quantize(at::tensor({-1.f, 2.f}), found, spec)[1].item<int>(), 255);
  EXPECT_EQ(quantize(at::tensor({-1.f, 2.f}), found, spec)[0].item<int>(), 0);
}

TEST(QParams, PowersOfTwo) {
  QuantSpec spec = spec_of("per-tensor-affine");
  spec.pot_scale = true;
  const QParams found = qparams_of(-1, 1, spec);  // 2 / 255 is nearest to 1 / 128
  EXPECT_EQ(found.scale.item<float>(), 1.f / 128);
  EXPECT_EQ(found.zero_point.item<float>(), 128);
  // The scale is rounded down here, and the zero point stays within the integers.
  const QParams cut = qparams_of(-1.2 * 255 / 256, 0, spec);
  EXPECT_EQ(cut.scale.item<float>(), 1.f / 256);
  EXPECT_EQ(cut.zero_point.item<float>(), 255);
}

TEST(QParams, NearestPowerOfTwo) {
  for (int e = -19; e < 20; ++e) {
    const double power = std::ldexp(1., e);
    for (const double factor : {0.70711, 0.9, 1., 1.2, 1.41421}) {
      EXPECT_EQ(nearest_power_of_two(power * factor), power) << e << " " << factor;
      const QuantSpec spec{.pot_scale = true};
      EXPECT_EQ(rounded_scale(at::tensor(power * factor), spec).item<double>(), power);
    }
  }
}

}  // namespace
}  // namespace sparsebit::quant::qparams_test
