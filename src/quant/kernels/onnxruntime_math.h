#pragma once

#include <cstdint>
#include <string_view>

namespace sparsebit::quant {

/// Instruction sets for which ONNX Runtime has kernels of their own, which add in another order.
enum class InstructionSet { Avx2, Avx512 };

/// What ONNX Runtime uses on this processor; it asks for the same: AVX-512F, and an operating
/// system that keeps its registers. Processors without AVX2 are not imitated: Avx2.
InstructionSet instruction_set();

/// "AVX2", "AVX-512"
std::string_view to_string(InstructionSet set);

/// The arithmetic of ONNX Runtime 1.30 and 1.31 on one instruction set, to the last bit. Rows are
/// contiguous; results may overwrite their inputs. Every table computes the same on any processor.
struct OnnxRuntimeMath {
  using Elementwise = void (*)(const float* x, float* y, int64_t count);
  using Rows = void (*)(const float* x, float* y, int64_t rows, int64_t size);

  Elementwise exp, erf, sigmoid, tanh;
  Rows softmax, log_softmax;
  /// @param bias  may be null.
  void (*layer_norm)(const float* x, float* y, int64_t rows, int64_t size, const float* weight,
                     const float* bias, float eps);
  /// One mean for each row.
  /// @param first  index of the first row in its tensor: sums start where memory is aligned.
  void (*mean)(const float* x, float* y, int64_t first, int64_t rows, int64_t size);
};

const OnnxRuntimeMath& onnxruntime_math(InstructionSet set = instruction_set());

}  // namespace sparsebit::quant
