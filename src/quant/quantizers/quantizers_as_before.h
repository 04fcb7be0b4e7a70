#pragma once

#include "sparsebit/quant/quantizers/quant_point.h"

#include <utility>
#include <vector>

namespace sparsebit::quant {

/// Restores which quantizers are enabled at the end of its scope, unless dismissed.
class QuantizersAsBefore {
 public:
  explicit QuantizersAsBefore(const std::vector<QuantPoint>& points) {
    for (const QuantPoint& point : points)
      before_.emplace_back(point.quantizer, point.quantizer->is_enabled());
  }
  ~QuantizersAsBefore() {
    for (const auto& [quantizer, on] : before_) quantizer->set_enabled(on);
  }
  QuantizersAsBefore(const QuantizersAsBefore&) = delete;
  QuantizersAsBefore& operator=(const QuantizersAsBefore&) = delete;

  void dismiss() { before_.clear(); }

 private:
  std::vector<std::pair<QuantizerPtr, bool>> before_;
};

}  // namespace sparsebit::quant
