#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// Whether libtorch says that a kernel of its own does not exist for float16; on a CPU that is so
/// for convolutions, matrix products and most others.
bool misses_float16(const std::exception& e);

/// Runs `kernel` on float32 copies of the float16 tensors and rounds what it returns and writes, as
/// ONNX Runtime does on a CPU.
Value run_in_float32(const Kernel& kernel, const Args& args);

}  // namespace sparsebit::fx
