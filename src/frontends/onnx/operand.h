#pragma once

#include "sparsebit/fx/ops/value.h"

#include <cstdint>
#include <utility>

namespace sparsebit::frontends {

/// The maximum rank of a tensor.
inline constexpr int64_t kMostAxes = 64;

/// The value of a name in an ONNX graph during import.
///
/// ONNX computes shapes with int64 tensors, torch with Python ints. `x.shape[0] * 2` is written to
/// an ONNX file as Shape, Gather, Mul; here it becomes ints and nodes that give ints again, so that
/// the imported graph reads `torch.reshape(x, [size * 2, -1])`.
struct Operand {
  enum class Kind {
    Tensor,  ///< a node that gives a tensor, or a constant tensor
    Int,     ///< a 0-d int64 tensor, as an int that a node gives
    Ints,    ///< a 1-d int64 tensor, as a list of ints and nodes that give ints
  };
  Kind kind = Kind::Tensor;
  fx::Value value;

  Operand() = default;
  Operand(fx::Value tensor) : value(std::move(tensor)) {}  // NOLINT
  Operand(Kind kind, fx::Value value) : kind(kind), value(std::move(value)) {}

  bool is_constant() const { return value.is_tensor(); }
  bool is_symbolic() const { return kind != Kind::Tensor; }
};

}  // namespace sparsebit::frontends
