#pragma once

#include "sparsebit/quant/observers/observer.h"

#include <utility>

// Ways to combine the ranges of single batches.

namespace sparsebit::quant {

/// The union of the ranges of all batches.
class WidestRange {
 public:
  static constexpr bool kDependsOnOrder = false;

  void add(const ValueRange& batch);
  void append(const WidestRange& later) { add(later.widest_); }
  const ValueRange& range() const { return widest_; }

 private:
  ValueRange widest_;
};

/// The exponential moving average, average * ratio + batch * (1 - ratio), starting with the first
/// batch.
class AverageRange {
 public:
  static constexpr bool kDependsOnOrder = true;

  explicit AverageRange(double ratio) : ratio_(ratio) {}
  void add(const ValueRange& batch);
  /// As if the batches of `later` had been added here: its first batch then has the weight 1 -
  /// ratio instead of 1.
  void append(const AverageRange& later);
  ValueRange range() const { return {average_[0], average_[1]}; }

 private:
  double ratio_;
  at::Tensor average_, first_;  // [low and high, rows], float64
  int64_t count_ = 0;
};

/// The range of the last batch.
class LastRange {
 public:
  static constexpr bool kDependsOnOrder = true;

  void add(const ValueRange& batch) { last_ = batch; }
  void append(const LastRange& later) { last_ = later.last_; }
  const ValueRange& range() const { return last_; }

 private:
  ValueRange last_;
};

/// An observer that finds a range per batch. A batch is the tensor of one observe() call: a single
/// sample in calibration, unless `whole_batches` is set.
/// @tparam Ranges  one of the above.
template <class Ranges>
class BatchRangeObserver : public Observer {
 public:
  explicit BatchRangeObserver(const QuantSpec& spec, Ranges ranges = Ranges())
      : Observer(spec), ranges_(std::move(ranges)) {}

  bool depends_on_order() const override { return Ranges::kDependsOnOrder; }

 private:
  /// One range per row. Throws if values are not finite.
  virtual ValueRange range_of_batch(const at::Tensor& x) const = 0;

  void add(const at::Tensor& x) override { ranges_.add(range_of_batch(x)); }
  void add_seen_by(const Observer& other) override {
    ranges_.append(static_cast<const BatchRangeObserver&>(other).ranges_);
  }
  ValueRange found() const override {
    const ValueRange& range = ranges_.range();
    return {shaped(range.low), shaped(range.high)};
  }

  Ranges ranges_;
};

}  // namespace sparsebit::quant
