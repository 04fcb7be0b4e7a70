#pragma once

#include "sparsebit/quant/observers/observer.h"
#include "sparsebit/quant/observers/value_histogram.h"

#include <span>
#include <vector>

namespace sparsebit::quant {

/// The range of one row.
struct Bounds {
  double low = 0;
  double high = 0;
};

/// Base class of observers that need the distribution of values. Weights are kept as they are;
/// activations are gathered in histograms.
class DistributionObserver : public Observer {
 public:
  using Observer::Observer;

 protected:
  /// Elements per row and sample; for weights all elements of a row.
  double elements_per_sample() const;

 private:
  /// Precision of the histogram in per-tensor mode; smaller tables are faster.
  virtual int mantissa_bits() const { return ValueHistogram::kFine; }
  virtual Bounds bounds_of(std::span<const float> numbers) const = 0;
  virtual Bounds bounds_of(const ValueHistogram& histogram) const = 0;

  void add(const at::Tensor& x) override;
  void count(const at::Tensor& x, const at::Tensor& rows);
  void add_seen_by(const Observer& other) override;
  ValueRange found() const override;

  at::Tensor weight_;                       // by row
  std::vector<ValueHistogram> histograms_;  // of activations, by row
  int64_t samples_ = 0;
  int64_t elements_ = 0;  // of a row
};

}  // namespace sparsebit::quant
