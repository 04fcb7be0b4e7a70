#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::clip_std_test {
namespace {

const QuantSpec kActivation{.scheme = scheme_from_text("per-tensor-affine")};

ValueRange range_of(const ObserverConfig& config, const at::Tensor& x,
                    const QuantSpec& spec = kActivation) {
  const auto observer = make_observer(spec, config);
  observer->observe(x);
  return observer->range();
}

/// Mean 1 and standard deviation 2: only the side with more distant values is clipped.
TEST(ClipStd, CutsWhatIsFarFromTheMean) {
  const at::Tensor x = at::tensor({-1.f, 0.f, 0.f, 0.f, 1.f, 6.f});
  const double mean = 1, sigma = x.std().item<double>();
  const ValueRange range = range_of({.type = "clip_std", .std_scale = 1.5}, x);
  EXPECT_NEAR(range.high.item<double>(), mean + 1.5 * sigma, 1e-5);
  EXPECT_EQ(range.low.item<double>(), -1);
  const ValueRange wide = range_of({.type = "clip_std", .std_scale = 1.5, .std_widens = true}, x);
  EXPECT_EQ(wide.high.item<double>(), 6);
  EXPECT_NEAR(wide.low.item<double>(), mean - 1.5 * sigma, 1e-5);
}

TEST(ClipStd, TheLastBatchCounts) {
  const auto observer = make_observer(kActivation, {.type = "clip_std"});
  observer->observe(at::tensor({-50.f, 50.f}));
  observer->observe(at::tensor({-1.f, 1.f}));
  EXPECT_TRUE(observer->depends_on_order());
  EXPECT_EQ(observer->range().high.item<double>(), 1);
}

TEST(ClipStd, ChannelsAndSingleNumbers) {
  const QuantSpec channels{.target = Target::Weight,
                           .scheme = scheme_from_text("per-channel-symmetric")};
  const at::Tensor x = at::tensor({3.f, -2.f});
  EXPECT_TRUE(at::equal(range_of({.type = "clip_std"}, x.view({2, 1}), channels).high, x));
}

}  // namespace
}  // namespace sparsebit::quant::clip_std_test
