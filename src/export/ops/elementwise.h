#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// A Python number or a tensor, as the operands are.
NodeResult as_operands(OnnxTensor result, const NodeResult& a, const NodeResult& b);

/// The type in which Python or torch combines two operands.
at::ScalarType combined_type(const NodeResult& a, const NodeResult& b);

/// An ONNX operator of two operands in their combined type.
NodeResult combine(Call& c, const std::string& type, const NodeResult& a, const NodeResult& b);

/// Converter of an operator with `input` that ONNX has under the name `type`, for floats; integers
/// become floats first, as in torch.
Converter float_unary(const std::string& type);

/// `input` as a floating tensor.
OnnxTensor float_input(Call& c, std::string_view name = "input");

/// trunc(x) of a floating tensor.
OnnxTensor truncate(GraphWriter& w, const OnnxTensor& x);
/// a // b rounded down; both have the same type.
OnnxTensor floor_divide(GraphWriter& w, const OnnxTensor& a, const OnnxTensor& b);

}  // namespace sparsebit::exports
