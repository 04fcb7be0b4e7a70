#include "quant/observers/batch_ranges.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::quant::batch_ranges_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

ValueRange range(float low, float high) { return {at::full({1}, low), at::full({1}, high)}; }

TEST(BatchRanges, Widest) {
  WidestRange ranges, later;
  ranges.add(range(-1, 2));
  later.add(range(0, 3));
  later.add(range(-2, 1));
  ranges.append(later);
  EXPECT_EQ(ranges.range().low.item<float>(), -2);
  EXPECT_EQ(ranges.range().high.item<float>(), 3);
}

TEST(BatchRanges, Average) {
  AverageRange whole(0.5), first(0.5), later(0.5);
  for (const float high : {8.f, 4.f, 2.f, 6.f}) whole.add(range(-1, high));
  EXPECT_EQ(whole.range().high.item<double>(), 5);
  for (const float high : {8.f, 4.f}) first.add(range(-1, high));
  for (const float high : {2.f, 6.f}) later.add(range(-1, high));
  first.append(later);
  EXPECT_EQ(first.range().high.item<double>(), 5);
  EXPECT_EQ(first.range().low.item<double>(), -1);
}

TEST(BatchRanges, Last) {
  LastRange ranges, later;
  ranges.add(range(-1, 2));
  later.add(range(0, 1));
  ranges.append(later);
  EXPECT_EQ(ranges.range().high.item<float>(), 1);
}

// --- all observers with a range per batch ------------------------------------------------------

const std::vector<std::string> kTypes = {"ema_quantile", "clip_std",      "lsq",     "batch_mse",
                                         "ema_mse",      "min_max_floor", "pot_mode"};

QuantSpec spec_of(Target target = Target::Activation) {
  return {.target = target, .scheme = scheme_from_text("per-tensor-symmetric"), .bits = 4};
}

/// Merged observers give the result of one observer that saw all batches.
TEST(BatchObservers, Merge) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({6, 50}) * at::tensor({1.f, 5.f, 2.f, 9.f, 3.f, 4.f}).view({6, 1});
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    const auto all = make_observer(spec_of(), {.type = type});
    const auto first = make_observer(spec_of(), {.type = type});
    const auto later = make_observer(spec_of(), {.type = type});
    for (int64_t i = 0; i < 6; ++i) {
      all->observe(x[i]);
      (i < 4 ? first : later)->observe(x[i]);
    }
    first->merge(*later);
    EXPECT_TRUE(at::allclose(first->qparams().scale, all->qparams().scale, 1e-6, 0));
    if (all->depends_on_order()) continue;
    const auto backwards = make_observer(spec_of(), {.type = type});
    for (int64_t i = 6; i-- > 0;) backwards->observe(x[i]);
    EXPECT_TRUE(at::equal(backwards->qparams().scale, all->qparams().scale));
  }
}

TEST(BatchObservers, DegenerateTensorsHaveAScale) {
  for (const std::string& type : kTypes) {
    for (const Target target : {Target::Weight, Target::Activation}) {
      for (const at::Tensor& x : {at::zeros({2, 3}), at::full({2, 3}, 5.), at::full({2, 3}, -5.),
                                  at::tensor(0.25), at::full({1}, 1e-30), at::full({4}, 1e30)}) {
        SCOPED_TRACE(c10::str(type, " ", x));
        const auto observer = make_observer(spec_of(target), {.type = type});
        observer->observe(x);
        const double scale = observer->qparams().scale.item<double>();
        EXPECT_TRUE(std::isfinite(scale) && scale > 0) << scale;
      }
    }
  }
}

TEST(BatchObservers, WhatHasNoRangeIsAnError) {
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    const auto observer = make_observer(spec_of(), {.type = type});
    EXPECT_THAT([&] { observer->qparams(); }, ThrowsMessage<Error>(HasSubstr("no data was seen")));
    EXPECT_THAT(
        [&] { observer->observe(at::tensor({1., std::nan(""), 2.})); },
        ThrowsMessage<Error>(HasSubstr("there are 1 NaN and 0 infinities among 3 numbers")));
    EXPECT_FALSE(observer->has_seen());
  }
}

}  // namespace
}  // namespace sparsebit::quant::batch_ranges_test
