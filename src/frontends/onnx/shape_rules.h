#pragma once

#include "frontends/onnx/conversion.h"

#include <map>
#include <string>

namespace sparsebit::frontends {

using MaybeInfo = std::optional<fx::TensorInfo>;

/// The first result's shape and type; empty when unknown.
using ShapeRule = MaybeInfo (*)(const Conversion&);
using ShapeRules = std::map<std::string, ShapeRule>;

void add_elementwise_rules(ShapeRules& rules);  ///< activations, arithmetic, normalizations
void add_indexing_rules(ShapeRules& rules);     ///< gathers, scatters and other lookups
void add_layout_rules(ShapeRules& rules);       ///< reshapes, joins, slices
void add_window_rules(ShapeRules& rules);       ///< convolutions, poolings, matrix products
void add_reduction_rules(ShapeRules& rules);

/// `axis` counted from the front; empty when there is no such axis.
std::optional<size_t> axis_of(int64_t axis, size_t rank);
/// `values` with all names of sizes dropped.
fx::TensorInfo unnamed(std::vector<int64_t> shape, at::ScalarType dtype);
/// Copies size `i` and its name.
void copy_size(const fx::TensorInfo& from, size_t i, fx::TensorInfo& to);
void add_size(fx::TensorInfo& to, int64_t size, const std::string& symbol = "");

}  // namespace sparsebit::frontends
