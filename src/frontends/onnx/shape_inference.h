#pragma once

#include "frontends/onnx/conversion.h"

#include <optional>
#include <vector>

namespace sparsebit::frontends {

/// Shapes and types of a converted node's results, as far as its inputs and constants tell them.
/// Nothing where there is no rule: never an error, because shapes are help, not truth.
///
/// The rules are our own: those of the packaged ONNX library read past the end of malformed nodes.
std::vector<std::optional<fx::TensorInfo>> infer_outputs(const Conversion& c);

/// A type as the file states it. Nothing for types without a shape, and for element types that
/// libtorch does not have.
std::optional<fx::TensorInfo> tensor_info_of(const onnx::TypeProto& type);

}  // namespace sparsebit::frontends
