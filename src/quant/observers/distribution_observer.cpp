#include "quant/observers/distribution_observer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace sparsebit::quant {

void DistributionObserver::add(const at::Tensor& x) {
  const at::Tensor rows = rows_of(x);
  if (spec().target == Target::Weight) {
    check_finite(x, at::stack({rows.min(), rows.max()}));
    weight_ = weight_.defined() ? at::cat({weight_, rows}, 1) : rows;
  } else {
    count(x, rows);
  }
  samples_ += x.dim() > 0 ? x.size(0) : 1;
  elements_ += rows.size(1);
}

/// Throws if values are not finite, before anything is counted: also not in earlier rows.
void DistributionObserver::count(const at::Tensor& x, const at::Tensor& rows) {
  const bool many = rows.size(0) > 1;
  if (many) bounds_of_rows(x);  // throws
  while (std::ssize(histograms_) < rows.size(0))
    histograms_.emplace_back(many ? ValueHistogram::kCoarse : mantissa_bits());
  const float* numbers = rows.data_ptr<float>();
  at::parallel_for(0, rows.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const bool finite =
          histograms_[static_cast<size_t>(row)].add(numbers + row * rows.size(1), rows.size(1));
      if (!finite) check_finite(x, x);
    }
  });
}

void DistributionObserver::add_seen_by(const Observer& other) {
  const auto& seen = static_cast<const DistributionObserver&>(other);
  samples_ += seen.samples_;
  elements_ += seen.elements_;
  if (seen.weight_.defined())
    weight_ = weight_.defined() ? at::cat({weight_, seen.weight_}, 1) : seen.weight_;
  for (size_t row = 0; row < seen.histograms_.size(); ++row) {
    if (row == histograms_.size()) {
      histograms_.emplace_back(seen.histograms_[row]);
    } else {
      histograms_[row].merge(seen.histograms_[row]);
    }
  }
}

double DistributionObserver::elements_per_sample() const {
  const double elements = static_cast<double>(elements_);
  return spec().target == Target::Weight ? elements : elements / static_cast<double>(samples_);
}

ValueRange DistributionObserver::found() const {
  const bool is_weight = weight_.defined();
  const int64_t count = is_weight ? weight_.size(0) : static_cast<int64_t>(histograms_.size());
  const at::Tensor low = at::empty({count}), high = at::empty({count});
  float *lows = low.data_ptr<float>(), *highs = high.data_ptr<float>();
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Bounds bounds =
          is_weight ? bounds_of(std::span(weight_.data_ptr<float>() + row * weight_.size(1),
                                          static_cast<size_t>(weight_.size(1))))
                    : bounds_of(histograms_[static_cast<size_t>(row)]);
      lows[row] = static_cast<float>(bounds.low);
      highs[row] = static_cast<float>(bounds.high);
    }
  });
  return {shaped(low), shaped(high)};
}

}  // namespace sparsebit::quant
