#pragma once

#include "sparsebit/fx/resolve.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// A convolution or linear layer as the product of a matrix of weights and a vector of inputs, for
/// each group of channels and each position of the output.
class LayerMatrix {
 public:
  /// @param call  of an operator with WeightFacts that multiplies, not looks up.
  /// @param weight  its weight.
  LayerMatrix(const fx::OperatorCall& call, const at::Tensor& weight);

  /// Whether the call has such a form: its options are numbers, not nodes.
  static bool fits(const fx::OperatorCall& call);

  int64_t groups() const { return groups_; }

  /// A tensor of the weight's shape as [groups, outputs of a group, inputs], and back.
  at::Tensor grouped(const at::Tensor& weight) const;
  at::Tensor ungrouped(const at::Tensor& matrix) const;

  /// The samples in an input; 1 if it has no batch axis.
  int64_t batch_of(const at::Tensor& input) const;
  /// What the weights are multiplied with: [groups, positions, inputs].
  at::Tensor rows(const at::Tensor& input) const;

 private:
  at::Tensor rows_by_copy(const at::Tensor& input) const;
  at::Tensor rows_by_convolution(const at::Tensor& input) const;
  at::Tensor unit_weights() const;
  at::Tensor by_group(const at::Tensor& columns) const;

  fx::OperatorCall call_;
  std::vector<int64_t> shape_;  // of the weight
  int64_t groups_ = 1;
  bool transposed_ = false;
};

}  // namespace sparsebit::quant
