#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sparsebit::fx {

/// Whether a call reads nothing of its input but the sizes: size(), shape, zeros_like, ...
bool reads_only_sizes(const Operator& op, const Args& args);

/// Whether a call takes a number out of a tensor: item(), int(), ...
bool takes_number(const Operator& op, const Args& args);

/// Whether sizes of the operator's results can follow from the content of a tensor.
bool can_be_data_sized(const std::string& operator_name);

/// Dimensions of a call's results whose sizes follow from the content of a tensor, not from sizes:
/// positions of nonzero, boxes that are kept, a range whose end is computed. Of a result with fewer
/// dimensions the last one is meant.
/// @param args             with the values of one run.
/// @param depends_on_data  whether the argument of a name depends on the content of an input.
std::vector<int64_t> data_sized_dims(const Operator& op, const Args& args,
                                     const std::function<bool(std::string_view)>& depends_on_data,
                                     const Value& result);

/// The result with one more element in each of the dimensions; what it contains is made up.
Value one_larger(const Value& result, const std::vector<int64_t>& dims);

}  // namespace sparsebit::fx
