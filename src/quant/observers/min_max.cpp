#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"

namespace sparsebit::quant {
namespace {

class MinMax : public BatchRangeObserver<WidestRange> {
 public:
  using BatchRangeObserver::BatchRangeObserver;

 private:
  ValueRange range_of_batch(const at::Tensor& x) const override { return bounds_of_rows(x); }
};

}  // namespace

ObserverPtr make_min_max(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<MinMax>(spec);
}

}  // namespace sparsebit::quant
