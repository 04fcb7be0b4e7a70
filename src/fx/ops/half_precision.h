#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// Whether libtorch reports that it has no float16 kernel. On a CPU it has none for convolutions,
/// matrix products and most other operators.
bool misses_float16(const std::exception& e);

/// Runs `kernel` on float32 copies of the float16 tensors and rounds its results and in-place
/// writes to float16, as ONNX Runtime does on a CPU.
Value run_in_float32(const Kernel& kernel, const Args& args);

}  // namespace sparsebit::fx
