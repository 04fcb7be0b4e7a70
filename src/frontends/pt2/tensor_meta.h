#pragma once

#include "frontends/pt2/json_value.h"
#include "sparsebit/fx/node.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// The element type with this number in torch's format. Throws Unsupported for types that this
/// libtorch does not have, such as float8.
at::ScalarType scalar_type(const JsonValue& number);

/// Type and shape of a tensor in the graph; dynamic sizes are -1, with the name of their symbol
/// unless they are expressions.
fx::TensorInfo tensor_info(const JsonValue& meta);

/// Position of a tensor in the bytes of its storage. All sizes are fixed.
struct StridedLayout {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  ///< in elements
};
StridedLayout strided_layout(const JsonValue& meta);

/// A tensor in `bytes`, without copying them. Throws InvalidModel naming the tensor when it exceeds
/// them.
at::Tensor strided_tensor(const at::Tensor& bytes, const StridedLayout& layout,
                          const std::string& name);

}  // namespace sparsebit::frontends::pt2
