#pragma once

#include "sparsebit/quant/quant_model.h"

#include <onnx/onnx_pb.h>

namespace sparsebit::exports {

/// Replaces operators between DequantizeLinear and QuantizeLinear by integer operators: ONNX's
/// QLinearConv and QLinearMatMul, and ONNX Runtime's own (domain com.microsoft), according to the
/// platform's operator table. Float nodes keep their Q/DQ pairs. `graph` must be exported from
/// `model`.
///
///     c = Conv(DequantizeLinear(x), DequantizeLinear(w))      q = QLinearConv(x, w, ...)
///     q = QuantizeLinear(c)                              =>
///
/// Returns whether operators of com.microsoft were used.
bool use_integer_operators(onnx::GraphProto& graph, const quant::QuantModel& model);

}  // namespace sparsebit::exports
