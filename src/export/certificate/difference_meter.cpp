#include "export/certificate/difference_meter.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sparsebit::exports {
namespace {

constexpr int kDroppedBits = 15;  // of a float's bits; 8 bits of the fraction remain
constexpr double kMost = 0.999;

size_t bin_of(float difference) { return std::bit_cast<uint32_t>(difference) >> kDroppedBits; }
/// The largest number in a bin.
double end_of(size_t bin) {
  const auto next = static_cast<uint32_t>((bin + 1) << kDroppedBits);
  const float last = std::bit_cast<float>(next - 1);
  if (!std::isfinite(last)) return std::numeric_limits<double>::infinity();
  return bin == 0 ? 0 : last;
}

}  // namespace

DifferenceMeter::DifferenceMeter()
    : counts_(size_t{1} << (31 - kDroppedBits)),
      lowest_expected_(std::numeric_limits<double>::infinity()),
      highest_expected_(-lowest_expected_) {}

void DifferenceMeter::add(const at::Tensor& expected, const at::Tensor& found) {
  SPARSEBIT_CHECK(expected.sizes() == found.sizes(), InvalidModel, "output shape: expected ",
                  expected.sizes(), ", found ", found.sizes());
  if (expected.numel() == 0) return;
  const at::Tensor a = expected.to(at::kFloat), b = found.to(at::kFloat);
  const at::Tensor differences =
      at::where(a.eq(b).logical_or(a.isnan().logical_and(b.isnan())), at::zeros({}), (a - b).abs())
          .contiguous();
  const float* first = differences.data_ptr<float>();
  for (const float* p = first; p != first + differences.numel(); ++p) {
    // NaN on one side only counts as an infinite difference.
    const float size = std::isnan(*p) ? std::numeric_limits<float>::infinity() : *p;
    ++counts_[bin_of(size)];
    largest_ = std::max<double>(largest_, size);
  }
  elements_ += differences.numel();
  signal_ += at::nan_to_num(a.to(at::kDouble)).square().sum().item<double>();
  noise_ += differences.to(at::kDouble).square().sum().item<double>();
  if (const at::Tensor finite = a.masked_select(a.isfinite()); finite.numel() > 0) {
    lowest_expected_ = std::min(lowest_expected_, finite.min().item<double>());
    highest_expected_ = std::max(highest_expected_, finite.max().item<double>());
  }
  compare_answers(a, b);
}

/// Class scores have exactly one axis besides the batch that is longer than 1.
void DifferenceMeter::compare_answers(const at::Tensor& expected, const at::Tensor& found) {
  const int64_t classes = expected.dim() > 1 ? expected.numel() / expected.size(0) : 0;
  are_scores_ = are_scores_ && classes > 1 && expected.size(1) == classes;
  if (!are_scores_) return;
  samples_ += expected.size(0);
  same_ += expected.flatten(1).argmax(1).eq(found.flatten(1).argmax(1)).sum().item<int64_t>();
}

OutputDifference DifferenceMeter::result(const std::string& output, double step) const {
  OutputDifference found{.output = output, .step = step};
  if (elements_ == 0) return found;
  found.snr = noise_ == 0             ? std::numeric_limits<double>::infinity()
              : std::isfinite(noise_) ? 10 * std::log10(signal_ / noise_)
                                      : -std::numeric_limits<double>::infinity();
  const bool any_finite = lowest_expected_ <= highest_expected_;
  const double highest =
      any_finite ? std::max(std::abs(lowest_expected_), std::abs(highest_expected_)) : 0;
  if (step == 0 && any_finite) found.step = (highest_expected_ - lowest_expected_) / 255;
  // A constant output has no range: use its magnitude; for all zeros, any difference is large.
  if (found.step == 0) found.step = highest / 255;
  if (found.step == 0) found.step = std::numeric_limits<float>::min();
  const double divisor = found.step;
  int64_t within = 0, seen = 0;
  bool reached = false;
  for (size_t bin = 0; bin < counts_.size(); ++bin) {
    if (counts_[bin] == 0) continue;
    const double end = std::min(end_of(bin), largest_);
    seen += counts_[bin];
    if (end <= divisor) within = seen;
    if (!reached && static_cast<double>(seen) >= kMost * static_cast<double>(elements_)) {
      reached = true;
      found.of_most = end / divisor;
    }
  }
  found.largest = largest_ / divisor;
  found.within_step = static_cast<double>(within) / static_cast<double>(elements_);
  found.relative = highest > 0 ? largest_ / highest : largest_;
  if (are_scores_ && samples_ > 0)
    found.answer = static_cast<double>(same_) / static_cast<double>(samples_);
  return found;
}

}  // namespace sparsebit::exports
