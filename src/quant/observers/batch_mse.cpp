#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"
#include "quant/observers/least_error_range.h"

namespace sparsebit::quant {
namespace {

/// Finds the range of least error of each batch; the result is the union of these ranges.
class BatchMse : public BatchRangeObserver<WidestRange> {
 public:
  BatchMse(const QuantSpec& spec, double exponent)
      : BatchRangeObserver(spec), exponent_(exponent) {}

 private:
  ValueRange range_of_batch(const at::Tensor& x) const override {
    return least_error_range(rows_of(x), bounds_of_rows(x), spec(), exponent_);
  }

  double exponent_;
};

}  // namespace

ObserverPtr make_batch_mse(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<BatchMse>(spec, config.error_exponent);
}

}  // namespace sparsebit::quant
