#include "quant/rounding/nearest_plane.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::nearest_plane_test {
namespace {

WeightGrid grid(double scale, double bound) {
  const at::Tensor one = at::ones({1, 1, 1}, at::kDouble);
  return {one * scale, one * 0, -bound, bound};
}

/// The second moments of correlated inputs.
at::Tensor gram_of(int64_t groups, int64_t inputs, int64_t positions) {
  const at::Tensor common = at::randn({groups, positions, 1}, at::kDouble);
  const at::Tensor x = at::randn({groups, positions, inputs}, at::kDouble) + 2 * common;
  return at::bmm(x.transpose(1, 2), x) / positions;
}

double error(const at::Tensor& weight, const at::Tensor& integers, const at::Tensor& gram,
             const WeightGrid& grid) {
  return output_errors(weight - grid.values(integers), gram).sum().item<double>();
}

TEST(NearestPlane, BeatsRoundingToNearest) {
  at::manual_seed(1);
  for (const int64_t inputs : {2, 9, 63, 64, 65, 200}) {
    const at::Tensor w = at::randn({3, 5, inputs}, at::kDouble), gram = gram_of(3, inputs, 400);
    const WeightGrid g = grid(0.3, 100);
    const double found = error(w, nearest_plane(w, gram, g), gram, g);
    EXPECT_LT(found, (inputs > 2 ? 0.6 : 1.0) * error(w, g.integers(w), gram, g)) << inputs;
  }
}

/// Without correlations, rounding to nearest is the optimum.
TEST(NearestPlane, IsRoundingToNearestForIndependentInputs) {
  at::manual_seed(2);
  const at::Tensor w = at::randn({2, 4, 70}, at::kDouble);
  const at::Tensor gram = at::diag_embed(at::rand({2, 70}, at::kDouble) + 0.1);
  const WeightGrid g = grid(0.2, 7);
  EXPECT_TRUE(at::equal(nearest_plane(w, gram, g), g.integers(w)));
}

/// The optimum of all 3^6 combinations is not much better.
TEST(NearestPlane, IsCloseToTheOptimum) {
  at::manual_seed(3);
  double sum_found = 0, sum_best = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const at::Tensor w = at::rand({1, 1, 6}, at::kDouble) * 2 - 1, gram = gram_of(1, 6, 50);
    const WeightGrid g = grid(1, 1);
    double best = 1e30;
    for (int code = 0; code < 729; ++code) {
      at::Tensor q = at::empty({1, 1, 6}, at::kDouble);
      for (int i = 0, rest = code; i < 6; ++i, rest /= 3) q[0][0][i] = rest % 3 - 1;
      best = std::min(best, error(w, q, gram, g));
    }
    sum_found += error(w, nearest_plane(w, gram, g), gram, g);
    sum_best += best;
  }
  EXPECT_GE(sum_found, sum_best);
  EXPECT_LT(sum_found, 1.5 * sum_best);
}

TEST(NearestPlane, ScalesMayDifferPerWeight) {
  at::manual_seed(4);
  const at::Tensor w = at::randn({2, 3, 10}, at::kDouble), gram = gram_of(2, 10, 100);
  WeightGrid g = grid(1, 7);
  g.scale = at::rand({2, 3, 10}, at::kDouble) * 0.2 + 0.1;
  g.zero_point = at::zeros_like(g.scale);
  const at::Tensor q = nearest_plane(w, gram, g);
  EXPECT_LT(error(w, q, gram, g), error(w, g.integers(w), gram, g));
  EXPECT_LE(q.abs().max().item<double>(), 7);
}

TEST(NearestPlane, DampingMakesSingularMatricesUsable) {
  const at::Tensor singular = at::ones({1, 4, 4}, at::kDouble), zero = at::zeros_like(singular);
  const at::Tensor none = at::zeros({1}, at::kDouble), one = at::ones({1}, at::kDouble);
  const at::Tensor w = at::randn({1, 2, 4}, at::kDouble);
  const WeightGrid g = grid(0.1, 100);
  EXPECT_TRUE(nearest_plane(w, damped(singular, 0.01, none), g).isfinite().all().item<bool>());
  EXPECT_TRUE(at::equal(nearest_plane(w, damped(zero, 0.01, one), g), g.integers(w)));
}

}  // namespace
}  // namespace sparsebit::quant::nearest_plane_test
