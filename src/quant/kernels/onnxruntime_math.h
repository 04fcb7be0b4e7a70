#pragma once

#include <cstdint>
#include <string_view>

namespace sparsebit::quant {

/// Instruction sets for which ONNX Runtime has separate kernels, with different orders of
/// summation.
enum class InstructionSet { Avx2, Avx512 };

/// The instruction set that ONNX Runtime uses on this processor, by the same check: AVX-512F with
/// support by the operating system. Processors without AVX2 are not simulated; they give Avx2.
InstructionSet instruction_set();

/// "AVX2", "AVX-512"
std::string_view to_string(InstructionSet set);

/// The arithmetic of ONNX Runtime 1.30 and 1.31 on one instruction set, bit-identical. Rows are
/// contiguous; outputs may overwrite their inputs. The results do not depend on the processor on
/// which this code runs.
struct OnnxRuntimeMath {
  using Elementwise = void (*)(const float* x, float* y, int64_t count);
  using Rows = void (*)(const float* x, float* y, int64_t rows, int64_t size);

  Elementwise exp, erf, sigmoid, tanh;
  Rows softmax, log_softmax;
  /// @param bias  may be null.
  void (*layer_norm)(const float* x, float* y, int64_t rows, int64_t size, const float* weight,
                     const float* bias, float eps);
  /// One mean per row.
  /// @param first  index of the first row in its tensor: the order of the sum depends on the memory
  ///               alignment of a row.
  void (*mean)(const float* x, float* y, int64_t first, int64_t rows, int64_t size);
};

const OnnxRuntimeMath& onnxruntime_math(InstructionSet set = instruction_set());

}  // namespace sparsebit::quant
