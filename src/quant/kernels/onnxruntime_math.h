#pragma once

#include <cstdint>

namespace sparsebit::quant {

// Float arithmetic in the order and with the roundings of ONNX Runtime's kernels for x86 processors
// with fused multiply-add, so that results are the same to the last bit.

/// Rows of `size` numbers: (x - mean) / deviation * weight + bias. `bias` may be null.
void layer_norm_rows(const float* x, float* y, int64_t rows, int64_t size, const float* weight,
                     const float* bias, float eps);

/// Rows of `size` numbers: exp(x - max) / sum.
void softmax_rows(const float* x, float* y, int64_t rows, int64_t size);

void erf_of(const float* x, float* y, int64_t count);

}  // namespace sparsebit::quant
