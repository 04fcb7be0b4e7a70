#pragma once

#include "sparsebit/quant/quant_model.h"

#include <onnx/onnx_pb.h>

namespace sparsebit::exports {

/// Replaces operators between DequantizeLinear and QuantizeLinear by their integer forms:
/// QLinearConv and QLinearMatMul of ONNX, and those that only ONNX Runtime has (domain
/// com.microsoft), as the platform's table says. What computes with floats keeps its pairs. The
/// graph is one that was written from this model.
///
///     c = Conv(DequantizeLinear(x), DequantizeLinear(w))      q = QLinearConv(x, w, ...)
///     q = QuantizeLinear(c)                              =>
///
/// Returns whether operators of com.microsoft are among them.
bool use_integer_operators(onnx::GraphProto& graph, const quant::QuantModel& model);

}  // namespace sparsebit::exports
