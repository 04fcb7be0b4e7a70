#pragma once

#include "frontends/onnx/conversion.h"

#include <optional>
#include <vector>

namespace sparsebit::frontends {

/// Shapes and types of a converted node's results, as far as they follow from its inputs and
/// constants. Empty where there is no rule: never an error, because shapes are only hints.
///
/// The rules are our own: the shape inference of the packaged ONNX library reads past the end of
/// malformed nodes.
std::vector<std::optional<fx::TensorInfo>> infer_outputs(const Conversion& c);

/// A type as the file states it. Empty for types without a shape, and for element types that
/// libtorch does not have.
std::optional<fx::TensorInfo> tensor_info_of(const onnx::TypeProto& type);

}  // namespace sparsebit::frontends
