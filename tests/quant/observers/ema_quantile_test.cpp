#include "sparsebit/core/error.h"
#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::ema_quantile_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const QuantSpec kActivation{.scheme = scheme_from_text("per-tensor-affine")};

ValueRange range_of(const ObserverConfig& config, const std::vector<at::Tensor>& batches) {
  const auto observer = make_observer(kActivation, config);
  for (const at::Tensor& batch : batches) observer->observe(batch);
  return observer->range();
}

/// 100 magnitudes in 100 bins, one in each: the middle of the 90th.
TEST(EmaQuantile, CutsBothSidesAtAShareOfTheMagnitudes) {
  const at::Tensor x = at::arange(100.) + 0.5, both = x * at::where(x.lt(80), 1., -1.);
  const ObserverConfig config{.type = "ema_quantile", .quantile = 0.9, .quantile_bins = 100};
  const ValueRange range = range_of(config, {both});
  EXPECT_NEAR(range.low.item<double>(), -89.5 * 0.995, 0.5);
  EXPECT_FLOAT_EQ(range.high.item<double>(), 79.5);  // below the clip bound
}

TEST(EmaQuantile, AveragesBatches) {
  const ObserverConfig config{.type = "ema_quantile", .ema_ratio = 0.5, .quantile = 1};
  const ValueRange range = range_of(config, {at::full({4}, 2.f), at::full({4}, 4.f)});
  EXPECT_NEAR(range.high.item<double>(), 3, 0.002);
  EXPECT_EQ(range_of(config, {at::zeros({4})}).high.item<double>(), 0);
}

TEST(EmaQuantile, HasOneRange) {
  const QuantSpec channels{.scheme = scheme_from_text("per-channel-affine")};
  EXPECT_THAT([&] { make_observer(channels, {.type = "ema_quantile"}); },
              ThrowsMessage<Error>(
                  HasSubstr("ema_quantile has one range per tensor, not per-channel-affine")));
}

}  // namespace
}  // namespace sparsebit::quant::ema_quantile_test
