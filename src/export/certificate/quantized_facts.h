#pragma once

#include "sparsebit/platforms/platform.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace sparsebit::exports {

/// An output of a file, and its scale if it comes out of DequantizeLinear (0 otherwise).
struct QuantizedOutput {
  std::string name;
  double scale = 0;
  /// Boxes selected by their scores (NMS), or something computed from them. Kernels that round
  /// differently give them in another order, so they cannot be compared element by element.
  bool selected = false;
};

/// What a certificate has to know about a quantized file.
struct QuantizedFacts {
  std::vector<QuantizedOutput> outputs = {};
  bool has_pairs = false;
  bool has_integer_operators = false;  ///< QLinearConv and the like
  int scale_bits = 0;                  ///< most significant bits of a scale of 8-bit integers
  std::string backend = {};            ///< as `sparsebit quantize` noted it

  bool selects_boxes() const;
  bool is_quantized() const { return has_pairs || has_integer_operators; }
  /// The platform of `backend`; null when it is unknown.
  const platforms::Platform* platform() const;
  /// Whether sums of products are exact in any order: scales have few bits, and the platform's
  /// rules for them were followed.
  bool sums_are_exact(const platforms::Platform* platform) const;
};

QuantizedFacts quantized_facts(const onnx::ModelProto& model);

}  // namespace sparsebit::exports
