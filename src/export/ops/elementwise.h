#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// A Python number if both operands are numbers, otherwise a tensor.
NodeResult as_operands(OnnxTensor result, const NodeResult& a, const NodeResult& b);

/// The type of an operation on both operands, by Python's or torch's rules.
at::ScalarType combined_type(const NodeResult& a, const NodeResult& b);

/// A binary ONNX operator; both operands are cast to their combined type.
NodeResult combine(Call& c, const std::string& type, const NodeResult& a, const NodeResult& b);

/// Converter of a unary operator that ONNX calls `type` and supports for floats; integers are cast
/// to float first, as in torch.
Converter float_unary(const std::string& type);

/// `input` as a floating tensor.
OnnxTensor float_input(Call& c, std::string_view name = "input");

/// trunc(x) of a floating tensor.
OnnxTensor truncate(GraphWriter& w, const OnnxTensor& x);
/// a // b rounded down; both have the same type.
OnnxTensor floor_divide(GraphWriter& w, const OnnxTensor& a, const OnnxTensor& b);

}  // namespace sparsebit::exports
