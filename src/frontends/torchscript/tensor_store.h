#pragma once

#include "frontends/torchscript/budget.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace sparsebit::frontends::torchscript {

/// Where the tensors of a graph that is being written live.
class TensorStore {
 public:
  virtual ~TensorStore() = default;
  /// The one object that stands for this tensor of the file.
  virtual at::Tensor canonical(const at::Tensor& tensor) const = 0;
  /// The path for a get_attr node of a canonical tensor; one that the model has nowhere is stored
  /// first.
  virtual std::string constant_path(const at::Tensor& tensor) = 0;
  /// What reading the file may still cost.
  virtual Budget& budget() = 0;
};

}  // namespace sparsebit::frontends::torchscript
