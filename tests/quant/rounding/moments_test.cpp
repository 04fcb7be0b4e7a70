#include "quant/rounding/moments.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::moments_test {
namespace {

TEST(Moments, AreThoseOfAllPositions) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({2, 30, 4}) + 1, t = x + at::randn({2, 30, 4}) * 0.1;
  Moments sum;
  for (const int64_t start : {0, 10, 20})
    sum.add(moments_of(x.narrow(1, start, 10), t.narrow(1, start, 10), sum.pivot));
  EXPECT_EQ(sum.count, 30);
  EXPECT_EQ(sum.samples, 3);
  const at::Tensor d = x.to(at::kDouble), drift = (t - x).to(at::kDouble);
  const at::Tensor centered = d - d.mean(1, true);
  EXPECT_TRUE(at::allclose(sum.mean(), d.mean(1), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(sum.drift_mean(), drift.mean(1), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(sum.second(), at::bmm(d.transpose(1, 2), d) / 30, 1e-5, 1e-5));
  EXPECT_TRUE(
      at::allclose(sum.covariance(), at::bmm(centered.transpose(1, 2), centered) / 30, 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(sum.drift_covariance(), at::bmm(drift.transpose(1, 2), centered) / 30,
                           1e-4, 1e-5));
}

/// Independent inputs have no correlations: what samples show of them is noise.
TEST(Moments, TellNoiseFromCorrelation) {
  at::manual_seed(2);
  Moments independent, correlated, far_away;
  for (int i = 0; i < 40; ++i) {
    const at::Tensor common = at::randn({1, 20, 1}), noise = at::randn({1, 20, 30});
    independent.add(moments_of(noise, {}, independent.pivot));
    correlated.add(moments_of(noise + 2 * common, {}, correlated.pivot));
    far_away.add(moments_of(noise + 2 * common + 50, {}, far_away.pivot));
  }
  EXPECT_GT(independent.noise_share().item<double>(), 0.8);
  EXPECT_LT(correlated.noise_share().item<double>(), 0.1);
  EXPECT_LT(far_away.noise_share().item<double>(), 0.1) << "whatever the mean";
}

TEST(Moments, OneSampleTellsNothingAboutOthers) {
  const Moments one = moments_of(at::randn({3, 5, 4}), at::randn({3, 5, 4}));
  EXPECT_TRUE(at::equal(one.noise_share(), at::ones({3}, at::kDouble)));
  EXPECT_TRUE(at::equal(one.drift_noise_share(), at::ones({3}, at::kDouble)));
}

}  // namespace
}  // namespace sparsebit::quant::moments_test
