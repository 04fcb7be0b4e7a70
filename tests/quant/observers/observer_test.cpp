#include "sparsebit/quant/observers/observer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/kernels/fake_quant.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sparsebit::quant::observer_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

QuantSpec spec_for(Target target, Granularity granularity, Symmetry symmetry = Symmetry::Affine,
                   int bits = 8) {
  return {.target = target,
          .scheme = {granularity, symmetry},
          .bits = bits,
          .channel_axis = target == Target::Weight ? 0 : 1};
}

const QuantSpec kActivation = spec_for(Target::Activation, Granularity::PerTensor);
const QuantSpec kWeight = spec_for(Target::Weight, Granularity::PerTensor);

ValueRange range_of_all(const std::string& type, const QuantSpec& spec,
                        const std::vector<at::Tensor>& batches, ObserverConfig config = {}) {
  config.type = type;
  const auto observer = make_observer(spec, config);
  for (const at::Tensor& batch : batches) observer->observe(batch);
  return observer->range();
}

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

/// Normal, half-normal and long-tailed distributions, values after a relu, and outliers.
std::vector<std::pair<std::string, at::Tensor>> samples(int64_t pixels = 100) {
  at::manual_seed(5);
  const std::vector<int64_t> shape = {8, 40, pixels};
  const at::Tensor normal = at::randn(shape);
  const at::Tensor laplace = at::empty(shape).exponential_() * (at::rand(shape) - 0.5).sign();
  at::Tensor outliers = at::randn(shape);
  outliers.view(-1).slice(0, 0, 20).mul_(30);
  return {{"normal", normal},        {"half", normal.abs() * 0.01},
          {"laplace", laplace * 50}, {"relu", at::relu(normal - 0.5)},
          {"outliers", outliers},    {"negative", -normal.abs() - 1}};
}

// --- the range of each observer ------------------------------------------------------------------

TEST(Observers, MinMaxOverBatchesOfAnySize) {
  const ValueRange range = range_of_all(
      "minmax", kActivation, {at::ones({2, 3, 4}), -2 * at::ones({1, 3, 9}), at::empty({0, 3})});
  EXPECT_EQ(number(range.low), -2);
  EXPECT_EQ(number(range.high), 1);
  const ValueRange channels = range_of_all(
      "minmax", spec_for(Target::Activation, Granularity::PerChannel),
      {at::tensor({1., 2., 3., 4.}).view({2, 2}), at::tensor({-7., 9.}).view({1, 2, 1})});
  EXPECT_TRUE(at::equal(channels.low, at::tensor({-7., 2.}).to(at::kFloat)));
  EXPECT_TRUE(at::equal(channels.high, at::tensor({3., 9.}).to(at::kFloat)));
}

TEST(Observers, GroupsOfInputs) {
  QuantSpec spec = spec_for(Target::Weight, Granularity::PerChannel);
  spec.group_size = 2;
  const ValueRange range = range_of_all("minmax", spec, {at::arange(16.).view({2, 4, 2, 1})});
  EXPECT_TRUE(at::equal(range.high, at::tensor({3., 7., 11., 15.}).view({2, 2}).to(at::kFloat)));
  spec.group_size = 3;
  EXPECT_THAT([&] { range_of_all("minmax", spec, {at::ones({2, 4})}); },
              ThrowsMessage<Error>(HasSubstr("a group size of 3 does not divide 4 inputs")));
}

TEST(Observers, MovingAverageOfSamples) {
  const at::Tensor x = at::tensor({0., 10., 2., 20., 4., 30.}).view({3, 2});
  ObserverConfig config{.ema_ratio = 0.5};
  const ValueRange range = range_of_all("moving_average", kActivation, {x}, config);
  EXPECT_FLOAT_EQ(number(range.low), (0 * 0.5 + 2 * 0.5) * 0.5 + 4 * 0.5);
  EXPECT_FLOAT_EQ(number(range.high), (10 * 0.5 + 20 * 0.5) * 0.5 + 30 * 0.5);
  EXPECT_THROW(range_of_all("moving_average", kWeight, {x}), Error);
}

/// By definition: ranks among the values above and below zero.
TEST(Observers, PercentileByRank) {
  const at::Tensor x = at::cat({at::arange(-1000., 0.), at::arange(0., 3000.)});
  const ValueRange range = range_of_all("percentile", kWeight, {x}, {.percentile_alpha = 0.01});
  EXPECT_EQ(number(range.high), 2969);  // 30 of 3000 are clipped
  EXPECT_EQ(number(range.low), -991);   // the 10th smallest
  const ValueRange none = range_of_all("percentile", kWeight, {at::arange(5.) + 1});
  EXPECT_EQ(number(none.low), 0);
  EXPECT_EQ(number(none.high), 5);
}

TEST(Observers, AciqByTable) {
  const at::Tensor x = at::linspace(-1, 3, 400).view({4, 100});
  const double spread = 4 * 0.540208362487903 / std::sqrt(2 * std::log(100.));
  const ValueRange gauss = range_of_all("aciq", kActivation, {x});
  EXPECT_NEAR(number(gauss.high), 3.92 * spread, 1e-5);
  EXPECT_NEAR(number(gauss.low), -3.92 * spread, 1e-5);
  const ValueRange half = range_of_all("aciq", kActivation, {x + 1});
  EXPECT_NEAR(number(half.high), 4.2 * spread, 1e-5);
  EXPECT_EQ(number(half.low), 0);
  const ObserverConfig laplace{.distribution = Distribution::Laplace};
  EXPECT_NEAR(number(range_of_all("aciq", kWeight, {x}, laplace).high), 9.89 * 1.0025, 0.01);
  // Beyond the table, the equation of the table continues it.
  const QuantSpec nine =
      spec_for(Target::Activation, Granularity::PerTensor, Symmetry::Symmetric, 9);
  EXPECT_NEAR(number(range_of_all("aciq", nine, {x}).high), 4.2 * spread, 0.02);
  EXPECT_NEAR(number(range_of_all("aciq", nine, {x}, laplace).high), 11.16 * 1.0025, 0.02);
}

/// Reference: every candidate, by ATen operators.
at::Tensor best_by_operators(const at::Tensor& x, const QuantSpec& spec) {
  double least = 1e300;
  at::Tensor best;
  for (int i = 0; i < 80; ++i) {
    const double factor = 1 - 0.01 * i;
    const QParams qparams = qparams_from_range(x.min() * factor, x.max() * factor, spec);
    const at::Tensor off = (x - fake_quant_reference(x, qparams, spec)).to(at::kDouble);
    const double error = off.square().sum().item<double>();
    if (error < least) best = qparams.scale;
    least = std::min(least, error);
  }
  return best;
}

TEST(Observers, MseIsTheBestOfEighty) {
  for (const auto& [name, x] : samples()) {
    for (const int bits : {4, 8}) {
      for (const Symmetry symmetry : {Symmetry::Symmetric, Symmetry::Affine}) {
        SCOPED_TRACE(c10::str(name, " ", bits));
        const QuantSpec spec = spec_for(Target::Weight, Granularity::PerTensor, symmetry, bits);
        const auto observer = make_observer(spec, {.type = "mse"});
        observer->observe(x);
        EXPECT_NEAR(number(observer->qparams().scale), number(best_by_operators(x, spec)),
                    1e-6 + number(observer->qparams().scale) * 1e-3);
      }
    }
  }
}

/// Also if a grid is wider than its range because the scale was rounded.
TEST(Observers, MseKnowsRoundedScalesAndRanges) {
  QuantSpec powers = spec_for(Target::Weight, Granularity::PerTensor, Symmetry::Symmetric, 4);
  powers.pot_scale = true;
  QuantSpec affine_powers = spec_for(Target::Weight, Granularity::PerTensor, Symmetry::Affine, 4);
  affine_powers.pot_scale = true;
  QuantSpec few_bits = affine_powers;
  few_bits.pot_scale = false;
  few_bits.scale_bits = 1;
  QuantSpec unsigned_spec =
      spec_for(Target::Weight, Granularity::PerTensor, Symmetry::Symmetric, 4);
  unsigned_spec.range = {0, 15};
  QuantSpec narrow = unsigned_spec;
  narrow.range = {-4, 3};
  for (const auto& [name, x] : samples()) {
    for (const QuantSpec& spec : {powers, affine_powers, few_bits, unsigned_spec, narrow}) {
      SCOPED_TRACE(c10::str(name, " ", spec.qmin(), " to ", spec.qmax()));
      const auto observer = make_observer(spec, {.type = "mse"});
      observer->observe(x);
      EXPECT_NEAR(number(observer->qparams().scale), number(best_by_operators(x, spec)),
                  1e-6 + number(observer->qparams().scale) * 1e-3);
    }
  }
}

/// Reference: the definition without prefix sums.
double kl_threshold(const at::Tensor& x, int bits) {
  const double largest = x.abs().max().item<double>();
  const double width = std::exp2(std::floor(std::log2(largest)) - 9);
  const int64_t reach = static_cast<int64_t>(largest / width) + 1;
  const bool two_sided = x.min().item<double>() < 0;
  const int64_t zero = two_sided ? reach : 0;
  const at::Tensor steps = x.masked_select(x.ne(0)).to(at::kDouble) / width;
  const at::Tensor toward_zero = steps.trunc() - steps.lt(0).to(at::kDouble) + zero;
  const at::Tensor counts =
      at::bincount(toward_zero.to(at::kLong), {}, zero + reach).to(at::kDouble);
  const int64_t levels = (1 << bits) - 1;
  double least = 1e300;
  int64_t best = 0;
  for (int64_t i = 1; i <= reach; ++i) {
    const int64_t first = two_sided ? zero - i : 0, size = two_sided ? 2 * i : i;
    if (size < levels) continue;
    const at::Tensor window = counts.slice(0, first, first + size);
    at::Tensor p = window.clone();
    p[0] += counts.slice(0, 0, first).sum();
    p[size - 1] += counts.slice(0, first + size, zero + reach).sum();
    at::Tensor q = at::zeros_like(p);
    const int64_t joined = size / levels;
    for (int64_t level = 0; level < levels; ++level) {
      const int64_t from = level * joined, to = level + 1 < levels ? from + joined : size;
      const at::Tensor filled = p.slice(0, from, to).ne(0).to(at::kDouble);
      const double count = filled.sum().item<double>();
      if (count > 0) q.slice(0, from, to).copy_(filled * (window.slice(0, from, to).sum() / count));
    }
    p.masked_fill_(p.eq(0), 1e-4);
    q.masked_fill_(q.eq(0), 1e-4);
    p = p / p.sum();
    q = q / q.sum();
    const double found = (p * (p / q).log()).sum().item<double>();
    if (found < least - 1e-12) best = i;
    least = std::min(least, found);
  }
  return std::min(static_cast<double>(best) * width, largest);
}

TEST(Observers, KlIsTheLeastDivergence) {
  for (const auto& [name, x] : samples()) {
    for (const int bits : {2, 4}) {  // the reference takes seconds for more bits
      SCOPED_TRACE(c10::str(name, " ", bits));
      const QuantSpec spec =
          spec_for(Target::Weight, Granularity::PerTensor, Symmetry::Affine, bits);
      const ValueRange range = range_of_all("kl_histogram", spec, {x});
      EXPECT_NEAR(number(range.high), kl_threshold(x, bits), 1e-5 * number(range.high));
      EXPECT_EQ(number(range.low), x.min().item<double>() < 0 ? -number(range.high) : 0);
    }
  }
}

/// Non-negative values use all unsigned integers, also with a symmetric scheme.
TEST(Observers, UnsignedSymmetricIsAsAffine) {
  QuantSpec symmetric = spec_for(Target::Activation, Granularity::PerTensor, Symmetry::Symmetric);
  symmetric.range = {0, 255};
  const at::Tensor x = samples()[3].second;  // after a relu
  for (const char* type : {"minmax", "percentile", "mse", "aciq", "kl_histogram"}) {
    SCOPED_TRACE(type);
    const auto one = make_observer(symmetric, {.type = type});
    const auto other = make_observer(kActivation, {.type = type});
    one->observe(x);
    other->observe(x);
    EXPECT_TRUE(at::equal(one->qparams().scale, other->qparams().scale));
    EXPECT_EQ(number(other->qparams().zero_point), 0);
  }
}

// --- streaming ----------------------------------------------------------------------------------

const std::vector<std::string> kTypes = {"minmax", "percentile", "mse", "aciq", "kl_histogram"};

/// Ranges from histograms (activations) and from the exact values (weights).
TEST(Observers, StreamingIsWithinOnePercentOfExact) {
  for (const auto& [name, x] : samples(4000)) {
    for (const std::string& type : kTypes) {
      for (const int bits : {4, 8}) {
        SCOPED_TRACE(c10::str(name, " ", type, " ", bits));
        if (type == "aciq") continue;  // uses the elements per sample, which weights do not have
        const auto range = [&](Target target) {
          return range_of_all(
              type, spec_for(target, Granularity::PerTensor, Symmetry::Affine, bits), {x});
        };
        const ValueRange exact = range(Target::Weight), streaming = range(Target::Activation);
        EXPECT_NEAR(number(streaming.high), number(exact.high),
                    0.01 * std::abs(number(exact.high)));
        EXPECT_NEAR(number(streaming.low), number(exact.low), 0.01 * std::abs(number(exact.low)));
      }
    }
  }
}

/// Bit-identical for any batch size and order, and for merged observers.
TEST(Observers, BatchesAndTheirOrderChangeNothing) {
  for (const Granularity granularity : {Granularity::PerTensor, Granularity::PerChannel}) {
    const QuantSpec spec = spec_for(Target::Activation, granularity);
    for (const auto& [name, x] : samples()) {
      for (const std::string& type : kTypes) {
        SCOPED_TRACE(c10::str(name, " ", type));
        const ValueRange whole = range_of_all(type, spec, {x});
        const ValueRange parts =
            range_of_all(type, spec, {x.narrow(0, 5, 3), x.narrow(0, 0, 1), x.narrow(0, 1, 4)});
        EXPECT_TRUE(at::equal(whole.low, parts.low) && at::equal(whole.high, parts.high));
        const auto one = make_observer(spec, {.type = type}),
                   two = make_observer(spec, {.type = type});
        one->observe(x.narrow(0, 0, 6));
        two->observe(x.narrow(0, 6, 2));
        one->merge(*two);
        EXPECT_TRUE(at::equal(whole.low, one->range().low) &&
                    at::equal(whole.high, one->range().high));
      }
    }
  }
}

TEST(Observers, AMergedMovingAverageIsThatOfAllSamples) {
  const at::Tensor x = samples()[0].second;
  const auto one = make_observer(kActivation, {.type = "moving_average"});
  const auto two = make_observer(kActivation, {.type = "moving_average"});
  one->observe(x.narrow(0, 0, 5));
  two->observe(x.narrow(0, 5, 3));
  one->merge(*two);
  const ValueRange whole = range_of_all("moving_average", kActivation, {x});
  EXPECT_NEAR(number(one->range().high), number(whole.high), 1e-6);
  EXPECT_NEAR(number(one->range().low), number(whole.low), 1e-6);
}

TEST(Observers, ChannelsByThemselves) {
  const QuantSpec spec = spec_for(Target::Activation, Granularity::PerChannel);
  const at::Tensor x = samples(4000)[0].second * at::logspace(-2, 2, 40).view({1, 40, 1});
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    const ValueRange all = range_of_all(type, spec, {x});
    ASSERT_EQ(all.high.sizes(), at::IntArrayRef({40}));
    const ValueRange one = range_of_all(type, kActivation, {x.narrow(1, 7, 1)});
    EXPECT_NEAR(all.high[7].item<double>(), number(one.high), 0.02 * number(one.high));
  }
}

// --- corner cases --------------------------------------------------------------------------------

TEST(Observers, DegenerateTensorsHaveAScale) {
  for (const std::string& type : kTypes) {
    for (const Target target : {Target::Weight, Target::Activation}) {
      for (const at::Tensor& x : {at::zeros({2, 3}), at::full({2, 3}, 5.), at::full({2, 3}, -5.),
                                  at::tensor(0.25), at::full({1}, 1e-30), at::full({4}, 1e30)}) {
        SCOPED_TRACE(c10::str(type, " ", x));
        const auto observer =
            make_observer(spec_for(target, Granularity::PerTensor), {.type = type});
        observer->observe(x);
        const QParams qparams = observer->qparams();
        EXPECT_TRUE(std::isfinite(number(qparams.scale)) && number(qparams.scale) > 0);
        EXPECT_GE(number(qparams.zero_point), 0);
        EXPECT_LE(number(qparams.zero_point), 255);
      }
    }
  }
}

/// Constant tensors are not clipped by any observer.
TEST(Observers, ConstantsStayWhatTheyAre) {
  for (const std::string& type : kTypes) {
    SCOPED_TRACE(type);
    const QuantSpec channels = spec_for(Target::Weight, Granularity::PerChannel);
    const auto weights = make_observer(channels, {.type = type});
    const at::Tensor single = at::tensor({-2.f, 0.5f, 3.f, 7.f}).view({4, 1, 1, 1});
    weights->observe(single);
    EXPECT_TRUE(at::allclose(fake_quant(single, weights->qparams(), channels), single, 0.02, 0));
    const QuantSpec affine = spec_for(Target::Activation, Granularity::PerTensor, Symmetry::Affine);
    const auto activations = make_observer(affine, {.type = type});
    activations->observe(at::full({2, 8}, 5.f));
    EXPECT_NEAR(number(activations->range().high), 5, 0.05);
  }
}

/// -0 is not a negative number.
TEST(Observers, MinusZeroIsZero) {
  const at::Tensor x = -at::relu(at::randn({8, 4000}));
  for (const char* type : {"percentile", "mse", "kl_histogram"}) {
    SCOPED_TRACE(type);
    const auto low = [&](Target target) {
      const QuantSpec spec = spec_for(target, Granularity::PerTensor, Symmetry::Affine);
      return number(range_of_all(type, spec, {x}).low);
    };
    EXPECT_NEAR(low(Target::Activation), low(Target::Weight), -0.01 * low(Target::Weight));
  }
}

TEST(Observers, ABatchThatIsRefusedLeavesNothingBehind) {
  for (const Granularity granularity : {Granularity::PerTensor, Granularity::PerChannel}) {
    for (const std::string& type : kTypes) {
      SCOPED_TRACE(type);
      const QuantSpec spec = spec_for(Target::Activation, granularity);
      const at::Tensor good = at::randn({2, 3, 9000});
      at::Tensor bad = at::randn({2, 3, 9000}) * 100;
      bad.view(-1)[50000] = std::numeric_limits<float>::infinity();
      const auto observer = make_observer(spec, {.type = type});
      EXPECT_THROW(observer->observe(bad), Error);
      observer->observe(good);
      EXPECT_TRUE(at::equal(observer->range().high, range_of_all(type, spec, {good}).high));
    }
  }
}

TEST(Observers, WhatHasNoRangeIsAnError) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& type : kTypes) {
    const auto observer = make_observer(kActivation, {.type = type});
    EXPECT_THAT([&] { observer->range(); }, ThrowsMessage<Error>(HasSubstr("no data was seen")));
    EXPECT_THAT(
        [&] { observer->observe(at::tensor({1., nan, HUGE_VAL, 2.})); },
        ThrowsMessage<Error>(HasSubstr("there are 1 NaN and 1 infinities among 4 numbers")));
    EXPECT_THROW(observer->observe(at::ones({2}, at::kLong)), Error);
  }
  const auto channels = make_observer(spec_for(Target::Activation, Granularity::PerChannel), {});
  channels->observe(at::ones({1, 3}));
  EXPECT_THAT([&] { channels->observe(at::ones({1, 4})); },
              ThrowsMessage<Error>(HasSubstr("does not have the channels of the tensors before")));
}

}  // namespace
}  // namespace sparsebit::quant::observer_test
