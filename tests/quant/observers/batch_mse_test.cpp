#include "sparsebit/quant/kernels/fake_quant.h"
#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::batch_mse_test {
namespace {

const QuantSpec kActivation{.scheme = scheme_from_text("per-tensor-affine"), .bits = 4};

double high_of(const ObserverConfig& config, const std::vector<at::Tensor>& batches,
               const QuantSpec& spec = kActivation) {
  const auto observer = make_observer(spec, config);
  for (const at::Tensor& batch : batches) observer->observe(batch);
  return observer->range().high.item<double>();
}

/// Many small values and an outlier.
at::Tensor with_outlier() {
  at::manual_seed(1);
  return at::cat({at::rand({2000}), at::full({1}, 4.f)});
}

TEST(BatchMse, CutsOffWhatCostsMoreThanItIsWorth) {
  EXPECT_LT(high_of({.type = "batch_mse"}, {with_outlier()}), 3);
  EXPECT_NEAR(high_of({.type = "batch_mse"}, {at::linspace(0, 1.5, 16)}), 1.5, 1e-6);
}

TEST(BatchMse, LargeExponentsKeepOutliers) {
  const double squares = high_of({.type = "batch_mse"}, {with_outlier()});
  const double large = high_of({.type = "batch_mse", .error_exponent = 8}, {with_outlier()});
  EXPECT_GT(large, squares + 0.5);
}

TEST(BatchMse, TheWidestOfAllBatches) {
  const at::Tensor narrow = at::linspace(0, 1, 16), wide = at::linspace(0, 3, 16);
  EXPECT_NEAR(high_of({.type = "batch_mse"}, {narrow, wide, narrow}), 3, 1e-5);
}

/// Each channel has the range that it would have alone.
TEST(BatchMse, Channels) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({3, 400}) * at::tensor({1.f, 10.f, 0.1f}).view({3, 1});
  QuantSpec spec{.target = Target::Weight, .scheme = scheme_from_text("per-channel-symmetric")};
  spec.bits = 4;
  const auto all = make_observer(spec, {.type = "batch_mse"});
  all->observe(x);
  for (int64_t i = 0; i < 3; ++i) {
    const auto one = make_observer(spec, {.type = "batch_mse"});
    one->observe(x.narrow(0, i, 1));
    EXPECT_TRUE(at::equal(all->range().high[i], one->range().high[0]));
  }
}

/// Candidates are compared with their rounded scales.
TEST(BatchMse, PowersOfTwo) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({4000});
  QuantSpec spec{.scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4};
  spec.pot_scale = true;
  const auto observer = make_observer(spec, {.type = "batch_mse"});
  observer->observe(x);
  const at::Tensor scale = observer->qparams().scale;
  const auto error = [&](const at::Tensor& tried) {
    return (fake_quant(x, {tried, at::zeros({})}, spec) - x).square().sum().item<double>();
  };
  EXPECT_LE(error(scale), error(scale * 2));
  EXPECT_LE(error(scale), error(scale / 2));
}

}  // namespace
}  // namespace sparsebit::quant::batch_mse_test
