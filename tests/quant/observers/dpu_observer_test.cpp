#include "sparsebit/core/error.h"
#include "sparsebit/quant/observers/observer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::dpu_observer_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const QuantSpec kActivation{.scheme = scheme_from_text("per-tensor-symmetric")};

double scale_of(const char* type, const at::Tensor& x) {
  const auto observer = make_observer(kActivation, {.type = type});
  observer->observe(x);
  return observer->qparams().scale.item<double>();
}

/// Any exponent up to 12; MQBench only counts votes for scales from 2^7 to 2^-12.
TEST(DpuObserver, NumbersOfAnySize) {
  for (const char* type : {"min_max_floor", "pot_mode"}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(scale_of(type, at::full({4}, 127 * 1024.f)), 1024);
    EXPECT_EQ(scale_of(type, at::full({4}, 1e-5f)), 1. / 4096);
  }
}

TEST(DpuObserver, SixBits) {
  QuantSpec spec = kActivation;
  spec.bits = 6;
  const auto observer = make_observer(spec, {.type = "min_max_floor"});
  observer->observe(at::linspace(-1, 1, 100));
  EXPECT_EQ(observer->qparams().scale.item<double>(), 1. / 32);
  EXPECT_EQ(observer->range().high.item<double>(), 31.5 / 32);
}

TEST(DpuObserver, SignedIntegersPerTensor) {
  QuantSpec unsigned_spec = kActivation;
  unsigned_spec.range = {0, 255};
  const QuantSpec affine{.scheme = scheme_from_text("per-tensor-affine")};
  const QuantSpec channels{.scheme = scheme_from_text("per-channel-symmetric")};
  for (const QuantSpec& spec : {unsigned_spec, affine, channels}) {
    EXPECT_THAT(
        [&] { make_observer(spec, {.type = "pot_mode"}); },
        ThrowsMessage<Error>(HasSubstr(
            "pot_mode needs QSCHEME per-tensor-symmetric with negative integers, not per-")));
  }
}

}  // namespace
}  // namespace sparsebit::quant::dpu_observer_test
