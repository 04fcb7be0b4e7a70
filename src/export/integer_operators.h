#pragma once

#include "sparsebit/platforms/platform.h"

#include <onnx/onnx_pb.h>

namespace sparsebit::exports {

/// Replaces operators between DequantizeLinear and QuantizeLinear by their integer forms:
/// QLinearConv and QLinearMatMul of ONNX, and those that only ONNX Runtime has (domain
/// com.microsoft), as the platform's table says. What has no such form keeps its pairs.
///
///     c = Conv(DequantizeLinear(x), DequantizeLinear(w))      q = QLinearConv(x, w, ...)
///     q = QuantizeLinear(c)                              =>
///
/// Returns whether operators of com.microsoft are among them.
bool use_integer_operators(onnx::GraphProto& graph, const platforms::Platform& platform);

}  // namespace sparsebit::exports
