#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::ema_mse_test {
namespace {

/// Sixteen integers represent the sixteen values exactly, so that each batch keeps its bounds.
TEST(EmaMse, AveragesTheRangesOfBatches) {
  const QuantSpec spec{.scheme = scheme_from_text("per-tensor-affine"), .bits = 4};
  const auto observer = make_observer(spec, {.type = "ema_mse", .ema_ratio = 0.75});
  observer->observe(at::linspace(0, 4, 16));
  observer->observe(at::linspace(0, 8, 16));
  EXPECT_TRUE(observer->depends_on_order());
  EXPECT_NEAR(observer->range().high.item<double>(), 0.75 * 4 + 0.25 * 8, 1e-5);
}

}  // namespace
}  // namespace sparsebit::quant::ema_mse_test
