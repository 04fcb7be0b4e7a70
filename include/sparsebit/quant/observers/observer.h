#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/quant/spec/qparams.h"
#include "sparsebit/quant/spec/tensor_config.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace sparsebit::quant {

/// Between which values a tensor is quantized: float32 of the shape of its scales.
struct ValueRange {
  at::Tensor low;
  at::Tensor high;
};

/// Statistics of one tensor, gathered over calibration batches and reduced to a range.
///
/// Life cycle: construct, observe() once per batch, range(). An observer keeps numbers, not
/// batches: its memory does not grow with their number. What it finds depends on neither the order
/// nor the size of the batches, except for those that look at each batch by itself: they depend on
/// its size and, where depends_on_order() says so, on the order.
class Observer {
 public:
  explicit Observer(QuantSpec spec) : spec_(spec) {}
  virtual ~Observer() = default;

  const QuantSpec& spec() const { return spec_; }

  /// Adds one tensor. Batches may be of different sizes, and an empty one changes nothing. Throws
  /// InvalidArgument for numbers that are not finite and for another number of channels.
  void observe(const at::Tensor& x);
  bool has_seen() const { return has_seen_; }
  /// Whether the order of the batches changes what it finds.
  virtual bool depends_on_order() const { return false; }

  /// Adds what `other` saw, as if this observer had seen it after its own. Throws InvalidArgument
  /// when the two are of different types or settings.
  void merge(const Observer& other);

  /// Both throw InvalidArgument when nothing was seen. An observer that finds scales themselves
  /// has the range that they cover.
  ValueRange range() const;
  QParams qparams() const;

 protected:
  /// Everything that shares a scale in a row: [scales, elements], float32, contiguous.
  at::Tensor rows_of(const at::Tensor& x) const;
  /// The smallest and largest number of each row. Throws when one is not finite.
  ValueRange bounds_of_rows(const at::Tensor& x) const;
  /// Throws unless `bounds`, which were found in x, are finite; NaN among numbers makes them NaN.
  static void check_finite(const at::Tensor& x, const at::Tensor& bounds);
  /// Numbers for each scale in the shape of the scales.
  at::Tensor shaped(const at::Tensor& per_scale) const;
  /// The range of which qparams_from_range() gives these.
  ValueRange range_of(const QParams& qparams) const;

 private:
  virtual void add(const at::Tensor& x) = 0;            // float32, not empty
  virtual void add_seen_by(const Observer& other) = 0;  // of the same type
  virtual ValueRange found() const = 0;
  /// Of found(), unless an observer finds scales themselves.
  virtual QParams found_qparams() const;

  QuantSpec spec_;
  std::vector<int64_t> scales_;  // their shape, known when something was seen
  bool has_seen_ = false;
};

using ObserverFactory =
    std::function<std::unique_ptr<Observer>(const QuantSpec&, const ObserverConfig&)>;

/// By `OBSERVER.TYPE`, in small letters. Add your own before the first config is read.
Registry<ObserverFactory>& observers();

std::unique_ptr<Observer> make_observer(const QuantSpec& spec, const ObserverConfig& config);

}  // namespace sparsebit::quant
