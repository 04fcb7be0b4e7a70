#pragma once

#include "sparsebit/platforms/platform.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace sparsebit::exports {

/// An output of a file, and its scale if a DequantizeLinear produces it (0 otherwise).
struct QuantizedOutput {
  std::string name;
  double scale = 0;
  /// Whether it holds boxes selected by their scores (NMS) or depends on them. Kernels that round
  /// differently may reorder them, so they cannot be compared element by element.
  bool selected = false;
};

/// Properties of a quantized file that a certificate depends on.
struct QuantizedFacts {
  std::vector<QuantizedOutput> outputs = {};
  bool has_pairs = false;
  bool has_integer_operators = false;  ///< QLinearConv and the like
  int scale_bits = 0;        ///< largest number of significant bits of any scale but biases'
  std::string backend = {};  ///< metadata `sparsebit.backend`

  bool selects_boxes() const;
  bool is_quantized() const { return has_pairs || has_integer_operators; }
  /// The platform of `backend`; null when it is unknown.
  const platforms::Platform* platform() const;
  /// Whether sums of products are exact in any order: the platform promises it and the scales have
  /// few significant bits.
  bool sums_are_exact(const platforms::Platform* platform) const;
};

QuantizedFacts quantized_facts(const onnx::ModelProto& model);

}  // namespace sparsebit::exports
