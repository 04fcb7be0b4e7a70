#pragma once

#include "sparsebit/fx/ops/value.h"

#include <string_view>
#include <vector>

namespace sparsebit::fx {

// Operator calls for the code of models: with tensors they compute at once, with traced values they
// record a node. nn/functional.h has the most common ones by name.

/// `target` as torch.fx prints it: "torch.add", "operator.getitem", "torch.nn.functional.relu".
Value call_function(std::string_view target, std::vector<Value> args, Kwargs kwargs = {});
/// A tensor method; `args[0]` is the tensor.
Value call_method(std::string_view name, std::vector<Value> args, Kwargs kwargs = {});

// Python's operators: operator.add, operator.sub, ...
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator%(const Value& a, const Value& b);
Value operator-(const Value& a);
Value floordiv(const Value& a, const Value& b);
Value matmul(const Value& a, const Value& b);

/// `x[index]`
Value getitem(const Value& x, const Value& index);
/// `x.shape[dim]`
Value size(const Value& x, int64_t dim);
/// `x.shape`
Value shape(const Value& x);

}  // namespace sparsebit::fx
