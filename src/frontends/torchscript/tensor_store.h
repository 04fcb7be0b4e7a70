#pragma once

#include "frontends/torchscript/budget.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace sparsebit::frontends::torchscript {

/// Owner of the tensors of a graph under construction.
class TensorStore {
 public:
  virtual ~TensorStore() = default;
  /// The unique object for this tensor of the file.
  virtual at::Tensor canonical(const at::Tensor& tensor) const = 0;
  /// The path for a get_attr node of a canonical tensor; a tensor that is not in the model is
  /// stored first.
  virtual std::string constant_path(const at::Tensor& tensor) = 0;
  /// The remaining budget of the import.
  virtual Budget& budget() = 0;
};

}  // namespace sparsebit::frontends::torchscript
