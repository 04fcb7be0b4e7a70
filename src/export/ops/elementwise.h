#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// A Python number or a tensor, as the operands are.
Val as_operands(Sym result, const Val& a, const Val& b);

/// The type in which Python or torch combines two operands.
at::ScalarType combined_type(const Val& a, const Val& b);

/// An ONNX operator of two operands in their combined type.
Val combine(Call& c, const std::string& type, const Val& a, const Val& b);

/// Converter of an operator with `input` that ONNX has under the name `type`, for floats; integers
/// become floats first, as in torch.
Converter float_unary(const std::string& type);

/// `input` as a floating tensor.
Sym float_input(Call& c, std::string_view name = "input");

/// trunc(x) of a floating tensor.
Sym truncate(GraphWriter& w, const Sym& x);
/// a // b rounded down; both have the same type.
Sym floor_divide(GraphWriter& w, const Sym& a, const Sym& b);

}  // namespace sparsebit::exports
