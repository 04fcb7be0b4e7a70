#pragma once

#include "sparsebit/fx/executor.h"
#include "sparsebit/platforms/platform.h"

namespace sparsebit::quant {

/// Float kernels with results that are bit-identical to ONNX Runtime's: layer norm, softmax, erf,
/// gelu and others, which stay float between integer nodes of transformers (docs/decisions/0009).
/// If gradients are recorded, and for types other than float32, the default kernels are used.
const fx::Kernels& onnxruntime_kernels();

/// The kernels named by a platform's `float_kernels`; null for libtorch's.
const fx::Kernels* float_kernels(const platforms::Platform& platform);

}  // namespace sparsebit::quant
