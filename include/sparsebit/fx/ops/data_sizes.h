#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sparsebit::fx {

/// Whether a call reads only the sizes of its input, not its elements: size(), zeros_like, ...
bool reads_only_sizes(const Operator& op, const Args& args);

/// Whether a call converts a tensor to a number: item(), int(), ...
bool takes_number(const Operator& op, const Args& args);

/// Whether the operator's results can have data-dependent sizes.
bool can_be_data_sized(const std::string& operator_name);

/// Dimensions of a call's results with data-dependent sizes: positions of nonzero, boxes kept by
/// NMS, a range whose end is computed. A dimension beyond the rank of a result stands for its last.
/// @param args             with the values of one run.
/// @param depends_on_data  whether the argument with this name depends on elements of an input.
std::vector<int64_t> data_sized_dims(const Operator& op, const Args& args,
                                     const std::function<bool(std::string_view)>& depends_on_data,
                                     const Value& result);

/// The result with one more element in each of the dimensions; its content is arbitrary.
Value one_larger(const Value& result, const std::vector<int64_t>& dims);

}  // namespace sparsebit::fx
