#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::lsq_observer_test {
namespace {

QParams qparams_of(const char* scheme, const at::Tensor& x, Target target = Target::Activation) {
  const QuantSpec spec{.target = target, .scheme = scheme_from_text(scheme), .bits = 4};
  const auto observer = make_observer(spec, {.type = "lsq"});
  observer->observe(at::full_like(x, 100));
  observer->observe(x);
  return observer->qparams();
}

/// Unlike in MQBench, where zero points such as -5 or 20 are possible.
TEST(LsqObserver, ZeroPointsAreIntegersThatThereAre) {
  EXPECT_EQ(qparams_of("per-tensor-affine", at::tensor({1.f, 2.f})).zero_point.item<float>(), 0);
  EXPECT_EQ(qparams_of("per-tensor-affine", at::cat({at::full({1}, -40.f), at::zeros({99})}))
                .zero_point.item<float>(),
            15);
  EXPECT_EQ(qparams_of("per-tensor-symmetric", at::tensor({-1.f, 2.f})).zero_point.item<float>(),
            0);
}

TEST(LsqObserver, ScalesOfTheLastBatch) {
  const at::Tensor x = at::tensor({-1.f, 3.f, 0.5f, 0.5f}).view({2, 2});
  const QParams found = qparams_of("per-channel-symmetric", x, Target::Weight);
  EXPECT_NEAR(found.scale[0].item<double>(), 2 * 2 / std::sqrt(7.), 1e-6);
  EXPECT_NEAR(found.scale[1].item<double>(), 2 * 0.5 / std::sqrt(7.), 1e-6);
}

}  // namespace
}  // namespace sparsebit::quant::lsq_observer_test
