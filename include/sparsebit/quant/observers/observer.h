#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/quant/spec/qparams.h"
#include "sparsebit/quant/spec/tensor_config.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace sparsebit::quant {

/// The range in which a tensor is quantized: float32 tensors of the shape of its scales.
struct ValueRange {
  at::Tensor low;
  at::Tensor high;
};

/// Gathers statistics of one tensor over calibration batches and reduces them to a range.
///
/// Life cycle: construct, observe() once per batch, range(). Memory does not grow with the number
/// of batches. The result does not depend on the order or size of the batches, except for observers
/// that find a range per batch: these depend on the batch size and, if depends_on_order(), on the
/// order.
class Observer {
 public:
  explicit Observer(QuantSpec spec) : spec_(spec) {}
  virtual ~Observer() = default;

  const QuantSpec& spec() const { return spec_; }

  /// Adds one tensor. Batches may differ in size; empty ones are ignored. Throws InvalidArgument
  /// for values that are not finite and for a different number of channels.
  void observe(const at::Tensor& x);
  bool has_seen() const { return has_seen_; }
  /// Whether the result depends on the order of the batches.
  virtual bool depends_on_order() const { return false; }

  /// Adds the statistics of `other`, as if this observer had seen its batches after its own. Throws
  /// InvalidArgument if the types or settings of the observers differ.
  void merge(const Observer& other);

  /// Both throw InvalidArgument if no data was seen. For observers that find scales directly,
  /// range() is the range that these cover.
  ValueRange range() const;
  QParams qparams() const;

 protected:
  /// One row per scale: [scales, elements], float32, contiguous.
  at::Tensor rows_of(const at::Tensor& x) const;
  /// The minimum and maximum of each row. Throws if a value is not finite.
  ValueRange bounds_of_rows(const at::Tensor& x) const;
  /// Throws unless `bounds`, computed from x, are finite; a NaN in x makes them NaN.
  static void check_finite(const at::Tensor& x, const at::Tensor& bounds);
  /// Values per scale, reshaped to the shape of the scales.
  at::Tensor shaped(const at::Tensor& per_scale) const;
  /// The inverse of qparams_from_range().
  ValueRange range_of(const QParams& qparams) const;

 private:
  virtual void add(const at::Tensor& x) = 0;            // float32, not empty
  virtual void add_seen_by(const Observer& other) = 0;  // of the same type
  virtual ValueRange found() const = 0;
  /// Computed from found() unless an observer finds scales directly.
  virtual QParams found_qparams() const;

  QuantSpec spec_;
  std::vector<int64_t> scales_;  // their shape; set by the first observe()
  bool has_seen_ = false;
};

using ObserverFactory =
    std::function<std::unique_ptr<Observer>(const QuantSpec&, const ObserverConfig&)>;

/// By `OBSERVER.TYPE`, in lower case. Add your own before the first config is read.
Registry<ObserverFactory>& observers();

std::unique_ptr<Observer> make_observer(const QuantSpec& spec, const ObserverConfig& config);

}  // namespace sparsebit::quant
