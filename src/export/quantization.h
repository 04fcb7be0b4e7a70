#pragma once

#include "export/writer.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <optional>
#include <string>

namespace sparsebit::exports {

/// Integers of the ONNX graph and what they stand for: (q - zero_point) * scale.
struct Quantized {
  at::Tensor scale;       ///< float32: [], [channels] or [channels, groups]
  at::Tensor zero_point;  ///< int32, as many
  int32_t type;           ///< onnx::TensorProto::DataType
  int64_t axis = 0;       ///< of the channels
  int64_t group_axis = 1;
  int64_t group_size = 0;
  at::Tensor q = {};      ///< of a weight, int32; a feature has none
  std::string name = {};  ///< of the weight
  std::string note = {};  ///< for the node's doc string
  Attrs extra = {};       ///< attributes that ONNX does not know

  bool is_per_tensor() const { return scale.dim() == 0; }
};

/// The ONNX type that holds integers of a kind. Weights of 4 bits have a type from opset 21 on;
/// features, which are not stored, gain nothing by it. 16 bits have one from opset 21 on, of which
/// only the signed one is used, since libtorch has no other.
struct IntegerType {
  int32_t type;
  bool is_exact;       ///< whether it holds no other integers
  int32_t offset = 0;  ///< what is stored is the integer less this
};
IntegerType integer_type(const quant::QuantSpec& spec, int64_t opset, bool four_bit_types);

/// DequantizeLinear of a constant.
OnnxTensor dequantized(GraphWriter& w, Quantized weight);
/// The same with axes in another order: what is stored is transposed. Nothing when x is something
/// else.
std::optional<OnnxTensor> transposed_integers(GraphWriter& w, const OnnxTensor& x,
                                              const std::vector<int64_t>& order);

}  // namespace sparsebit::exports
