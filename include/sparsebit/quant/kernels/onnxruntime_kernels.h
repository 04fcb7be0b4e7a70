#pragma once

#include "sparsebit/fx/executor.h"
#include "sparsebit/platforms/platform.h"

namespace sparsebit::quant {

/// Kernels that compute as ONNX Runtime's do, to the last bit: layer norms, softmax, erf and gelu
/// of floats, as they stand between integers in transformers (docs/decisions/0009). Where gradients
/// are recorded, and for other types, the usual ones.
const fx::Kernels& onnxruntime_kernels();

/// The kernels that a platform's `float_kernels` names; null for libtorch's own.
const fx::Kernels* float_kernels(const platforms::Platform& platform);

}  // namespace sparsebit::quant
