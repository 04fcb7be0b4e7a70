#pragma once

#include "export/writer.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <optional>
#include <string>

namespace sparsebit::exports {

/// Quantized integers in the ONNX graph: x = (q - zero_point) * scale.
struct Quantized {
  at::Tensor scale;       ///< float32: [], [channels] or [channels, groups]
  at::Tensor zero_point;  ///< int32, same shape
  int32_t type;           ///< onnx::TensorProto::DataType
  int64_t axis = 0;       ///< the channel axis
  int64_t group_axis = 1;
  int64_t group_size = 0;
  at::Tensor q = {};      ///< a weight's integers, int32; undefined for activations
  std::string name = {};  ///< the weight's name
  std::string note = {};  ///< for the node's doc string
  Attrs extra = {};       ///< attributes outside the ONNX standard

  bool is_per_tensor() const { return scale.dim() == 0; }
};

/// The ONNX type that stores the integers of a quantizer. Weights of up to 4 bits use INT4 or UINT4
/// from opset 21 on; activations do not, since they are not stored. 9 to 16 bits need opset 21 and
/// use INT16, also for unsigned integers, since libtorch has no uint16.
struct IntegerType {
  int32_t type;
  bool is_exact;       ///< whether the type's range is exactly [qmin, qmax]
  int32_t offset = 0;  ///< subtracted from integers and zero points before storing
};
IntegerType integer_type(const quant::QuantSpec& spec, int64_t opset, bool four_bit_types);

/// DequantizeLinear of a constant.
OnnxTensor dequantized(GraphWriter& w, Quantized weight);
/// The same with permuted axes: stores the integers transposed. Nothing when `x` is not a
/// dequantized constant.
std::optional<OnnxTensor> transposed_integers(GraphWriter& w, const OnnxTensor& x,
                                              const std::vector<int64_t>& order);

}  // namespace sparsebit::exports
