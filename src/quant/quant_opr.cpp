#include "sparsebit/quant/quant_opr.h"

#include "sparsebit/core/error.h"

#include <algorithm>

namespace sparsebit::quant {

QuantOpr::QuantOpr(std::string name, const std::vector<QuantPoint>& points)
    : name_(std::move(name)) {
  for (const QuantPoint& point : points) {
    const auto& readers = point.consumers;
    if (std::find(readers.begin(), readers.end(), name_) == readers.end()) continue;
    if (point.is_weight()) {
      if (!weight_) weight_ = point.quantizer.get();  // `points` has weights before biases
    } else if (point.is_activation()) {
      inputs_.push_back(point.quantizer.get());
    }
  }
}

Quantizer& QuantOpr::input_quantizer() const {
  SPARSEBIT_CHECK(inputs_.size() == 1, InvalidArgument, "'", name_, "' has ", inputs_.size(),
                  " quantized inputs, expected 1; input_quantizers() returns all of them");
  return *inputs_.front();
}

Quantizer& QuantOpr::weight_quantizer() const {
  SPARSEBIT_CHECK(weight_, InvalidArgument, "'", name_, "' has no quantized weight");
  return *weight_;
}

}  // namespace sparsebit::quant
