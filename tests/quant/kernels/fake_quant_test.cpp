#include "sparsebit/quant/kernels/fake_quant.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::quant::fake_quant_test {
namespace {

constexpr QuantScheme kPerTensor = {Granularity::PerTensor, Symmetry::Symmetric};
constexpr QuantScheme kPerTensorAffine = {Granularity::PerTensor, Symmetry::Affine};
constexpr QuantScheme kPerChannel = {Granularity::PerChannel, Symmetry::Affine};

at::Tensor row(const std::vector<double>& numbers) { return at::tensor(numbers).to(at::kFloat); }

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         at::equal(a.contiguous().view(at::kInt), b.contiguous().view(at::kInt));
}

/// Exact reference values: 127.5 is a tie and is rounded to 128, which is clamped. In float32,
/// 1 / scale is slightly smaller.
TEST(FakeQuant, SymmetricInt8) {
  const QuantSpec spec{.scheme = kPerTensor};
  const QParams qparams = qparams_from_range(row({-1})[0], row({1})[0], spec);
  EXPECT_FLOAT_EQ(qparams.scale.item<float>(), 0.0078431373f);
  const QParams exact = {at::full({}, 2. / 255, at::kDouble), at::zeros({}, at::kDouble)};
  const at::Tensor x = at::tensor({1., -1., 0.5, 0.1}, at::kDouble);
  EXPECT_TRUE(at::equal(quantize(x, exact, spec), at::tensor({127, -128, 64, 13}, at::kInt)));
  EXPECT_TRUE(at::allclose(fake_quant(x, exact, spec),
                           at::tensor({0.9960784, -1.0039216, 0.5019608, 0.1019608}, at::kDouble),
                           0, 1e-7));
}

TEST(FakeQuant, AffineUint4) {
  const QuantSpec spec{.scheme = kPerTensorAffine, .bits = 4};
  const QParams qparams = qparams_from_range(row({-1})[0], row({3})[0], spec);
  EXPECT_EQ(qparams.zero_point.item<float>(), 4);
  const at::Tensor x = row({-1, -0.5, 0, 1, 3});
  EXPECT_TRUE(at::equal(quantize(x, qparams, spec), at::tensor({0, 2, 4, 8, 15}, at::kInt)));
  EXPECT_TRUE(at::allclose(fake_quant(x, qparams, spec),
                           row({-1.0666667, -0.5333333, 0, 1.0666667, 2.9333333}), 0, 1e-6));
}

TEST(FakeQuant, RestrictedIntegersAreSymmetric) {
  const QuantSpec spec{.scheme = kPerTensor, .restricted = true};
  const QParams qparams = qparams_from_range(row({-2})[0], row({1})[0], spec);
  EXPECT_TRUE(at::equal(quantize(row({-2, 2, -9}), qparams, spec),
                        at::tensor({-127, 127, -127}, at::kInt)));
}

TEST(FakeQuant, ZerosHaveTheLeastScale) {
  const QuantSpec spec{.scheme = kPerTensor};
  const QParams qparams = qparams_from_range(row({0})[0], row({0})[0], spec);
  EXPECT_EQ(qparams.scale.item<float>(), 1e-6f);
  EXPECT_EQ(qparams.zero_point.item<float>(), 0);
  const at::Tensor infinite = row({std::numeric_limits<double>::infinity()})[0];
  EXPECT_THROW(qparams_from_range(row({0})[0], infinite, spec), Error);
}

struct ShapeCase {
  std::vector<int64_t> shape;
  int64_t axis;
  std::vector<int64_t> scales;
};

/// Random scales and zero points, values far out of range, halves, NaN and infinities.
TEST(FakeQuant, TheFastOneGivesTheSameBits) {
  at::manual_seed(1);
  for (const ShapeCase& c :
       {ShapeCase{{}, 0, {}}, ShapeCase{{7}, 0, {}}, ShapeCase{{3, 5, 7, 9}, 0, {}},
        ShapeCase{{70000}, 0, {}}, ShapeCase{{3, 5, 7, 9}, 1, {5}}, ShapeCase{{6, 5, 3, 3}, 0, {6}},
        ShapeCase{{4, 9, 12}, 2, {12}}, ShapeCase{{5, 12}, 2, {12}},
        ShapeCase{{8, 6, 3, 3}, 0, {8, 2}}, ShapeCase{{2, 40000}, 0, {2}},
        ShapeCase{{0, 3}, 1, {3}}}) {
    for (const int bits : {2, 4, 8, 16}) {
      SCOPED_TRACE(c10::str(at::IntArrayRef(c.shape), " ", at::IntArrayRef(c.scales), " ", bits));
      const QuantSpec spec{.scheme = kPerChannel, .bits = bits, .channel_axis = c.axis};
      const QParams qparams = {at::rand(c.scales) * 0.1 + 0.01,
                               at::randint(0, spec.qmax(), c.scales).to(at::kFloat)};
      at::Tensor x = at::randn(c.shape) * 3;
      if (x.numel() > 6) {
        at::Tensor flat = x.view(-1);
        flat[0] = std::numeric_limits<float>::quiet_NaN();
        flat[1] = std::numeric_limits<float>::infinity();
        flat[2] = -3e38f;
        flat[3] = -1e-30f;
        flat[4] = 0.5 * qparams.scale.view(-1)[0];
        flat[5] = -1.5 * qparams.scale.view(-1)[0];
      }
      EXPECT_TRUE(same_bits(fake_quant(x, qparams, spec), fake_quant_reference(x, qparams, spec)));
      if (x.dim() != 4) continue;
      const at::Tensor last = x.contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor result = fake_quant(last, qparams, spec);
      EXPECT_TRUE(same_bits(result, fake_quant_reference(x, qparams, spec)));
      if (c.scales.size() == 2) continue;  // groups are only used for weights, which are contiguous
      EXPECT_EQ(result.strides(), last.strides());
      const at::Tensor cut = x.narrow(2, 0, 2);
      EXPECT_TRUE(
          same_bits(fake_quant(cut, qparams, spec), fake_quant_reference(cut, qparams, spec)));
    }
  }
}

TEST(FakeQuant, OtherTypesStayWhatTheyAre) {
  const QuantSpec spec{.scheme = kPerTensor};
  const QParams qparams = {at::full({}, 0.01f), at::zeros({})};
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble}) {
    const at::Tensor x = at::randn({5}).to(type);
    EXPECT_EQ(fake_quant(x, qparams, spec).scalar_type(), type);
  }
  EXPECT_THROW(fake_quant(at::ones({2}, at::kLong), qparams, spec), Error);
}

TEST(FakeQuant, ScalesThatDoNotFitAreAnError) {
  const QuantSpec spec{.scheme = kPerChannel, .channel_axis = 1};
  EXPECT_THROW(fake_quant(at::ones({2, 3}), {at::ones({4}), at::zeros({4})}, spec), Error);
  EXPECT_THROW(fake_quant(at::ones({}), {at::ones({4}), at::zeros({4})}, spec), Error);
}

/// Gradients for values inside, above and below the range.
TEST(FakeQuant, GradientsGoStraightThrough) {
  const QuantSpec spec{.scheme = kPerTensorAffine, .bits = 4};
  const at::Tensor x = row({-9, -0.6, 0.25, 1.3, 9}).requires_grad_();
  const at::Tensor scale = at::full({}, 0.5f).requires_grad_();
  const at::Tensor zero_point = at::full({}, 4.f).requires_grad_();
  const at::Tensor weights = row({1, 2, 3, 4, 5});
  (fake_quant(x, {scale, zero_point}, spec) * weights).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), row({0, 2, 3, 4, 0})));
  // below: -4 * 1; inside: (round(v) - v) * g; above: (15 - 4) * 5.
  const double inside = (-1 + 1.2) * 2 + (0 - 0.5) * 3 + (3 - 2.6) * 4;
  EXPECT_NEAR(scale.grad().item<double>(), -4 + inside + 55, 1e-5);
  EXPECT_NEAR(zero_point.grad().item<double>(), -0.5 * (1 + 5), 1e-6);
}

/// The highest integer counts as inside.
TEST(FakeQuant, TheLastIntegerIsNotClamped) {
  const QuantSpec spec{.scheme = kPerTensor};
  const at::Tensor x = row({127, -128, 127.6}).requires_grad_();
  fake_quant(x, {at::ones({}), at::zeros({})}, spec).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), row({1, 1, 0})));
}

/// Gradients of all memory layouts against those of ATen operators in double.
TEST(FakeQuant, GradientsOfAllLayouts) {
  at::manual_seed(3);
  for (const ShapeCase& c : {ShapeCase{{3, 4, 5, 6}, 0, {}}, ShapeCase{{3, 4, 5, 6}, 1, {4}},
                             ShapeCase{{8, 6, 3, 3}, 0, {8, 2}}, ShapeCase{{7, 4}, 1, {4}},
                             ShapeCase{{2, 40000}, 0, {2}}}) {
    SCOPED_TRACE(c10::str(at::IntArrayRef(c.shape), " ", at::IntArrayRef(c.scales)));
    const QuantSpec spec{.scheme = kPerChannel, .bits = 4, .channel_axis = c.axis};
    const QParams start = {at::rand(c.scales) * 0.1 + 0.05, at::full(c.scales, 7.f)};
    const at::Tensor values = at::randn(c.shape), slopes = at::randn(c.shape);
    const auto gradients = [&](const at::Tensor& x, const at::Tensor& slopes) {
      const QParams qparams = {start.scale.detach().clone().requires_grad_(),
                               start.zero_point.detach().clone().requires_grad_()};
      const at::Tensor leaf = x.detach().clone().requires_grad_();
      fake_quant(leaf, qparams, spec).backward(slopes);
      return std::vector<at::Tensor>{leaf.grad(), qparams.scale.grad(), qparams.zero_point.grad()};
    };
    const auto plain = gradients(values.to(at::kDouble), slopes.to(at::kDouble));
    const auto check = [&](const std::vector<at::Tensor>& fast) {
      EXPECT_TRUE(at::equal(fast[0], plain[0].to(at::kFloat)));
      EXPECT_TRUE(at::allclose(fast[1], plain[1], 1e-4, 1e-4)) << fast[1] << plain[1];
      EXPECT_TRUE(at::allclose(fast[2], plain[2], 1e-4, 1e-4));
    };
    check(gradients(values, slopes));
    if (c.shape.size() != 4 || c.scales.size() == 2) continue;
    const auto last = at::MemoryFormat::ChannelsLast;
    const auto fast = gradients(values.contiguous(last), slopes.contiguous(last));
    check(fast);
    EXPECT_TRUE(fast[0].is_contiguous(last));
  }
}

TEST(FakeQuant, ThreadsChangeNothing) {
  const int before = at::get_num_threads();
  for (const at::Tensor& x :
       {at::randn({300000}), at::randn({5, 7, 90, 100}),
        at::randn({5, 7, 90, 100}).contiguous(at::MemoryFormat::ChannelsLast)}) {
    const bool per_channel = x.dim() == 4;
    const QuantSpec spec{.scheme = per_channel ? kPerChannel : kPerTensor, .channel_axis = 1};
    const auto run = [&](int threads) {
      at::set_num_threads(threads);
      const std::vector<int64_t> scales(per_channel ? 1 : 0, 7);
      const QParams qparams = {at::full(scales, 0.02f).requires_grad_(), at::zeros(scales)};
      const at::Tensor y = fake_quant(x, qparams, spec);
      (y * x).sum().backward();
      return std::pair(y.detach(), qparams.scale.grad());
    };
    const auto one = run(1), two = run(2), three = run(3);
    EXPECT_TRUE(same_bits(one.first, two.first));
    EXPECT_TRUE(same_bits(one.second, two.second));
    EXPECT_TRUE(same_bits(one.second, three.second));
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace sparsebit::quant::fake_quant_test
