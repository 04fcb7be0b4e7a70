#pragma once

#include "sparsebit/fx/interpreter.h"

namespace sparsebit::quant {

/// Kernels that compute as ONNX Runtime's do, to the last bit: layer norms, softmax, erf and gelu
/// of floats, as they stand between integers in transformers (docs/decisions/0009). Where gradients
/// are recorded, and for other types, the usual ones.
const fx::Kernels& onnxruntime_kernels();

}  // namespace sparsebit::quant
