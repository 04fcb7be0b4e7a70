#pragma once

#include "sparsebit/quant/observers/observer.h"

namespace sparsebit::quant {

/// The range of each row with the least quantization error, mean(|error|^exponent). Candidates are
/// the bounds of the row and narrower ranges in steps of 1 %: 95 per tensor, 80 per channel. Of
/// equal candidates the widest wins.
/// @param rows  [scales, elements]
ValueRange least_error_range(const at::Tensor& rows, const ValueRange& bounds,
                             const QuantSpec& spec, double exponent);

}  // namespace sparsebit::quant
