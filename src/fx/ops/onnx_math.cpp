#include "fx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// The sum of the elements up to each position, which is included unless `exclusive`.
Value cumsum(const Args& a) {
  const Tensor x = a.tensor("x");
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  const int64_t size = x.size(axis);
  const bool reverse = a.flag("reverse");
  Tensor terms = reverse ? x.flip({axis}) : x;
  if (a.flag("exclusive") && size > 0) {
    const Tensor zero = at::zeros_like(terms.narrow(axis, 0, 1));
    terms = at::cat({zero, terms.narrow(axis, 0, size - 1)}, axis);
  }
  const Tensor sums = at::cumsum(terms, axis, x.scalar_type());
  return reverse ? sums.flip({axis}) : sums;
}

/// Minus the input at the label, weighted; labels equal to ignore_index are skipped.
Value likelihood_loss(const Args& a) {
  const std::string reduction = a.text("reduction");
  const int64_t number = reduction == "none"   ? at::Reduction::None
                         : reduction == "mean" ? at::Reduction::Mean
                                               : at::Reduction::Sum;
  SPARSEBIT_CHECK(number != at::Reduction::Sum || reduction == "sum", InvalidArgument,
                  "reduction must be none, mean or sum; got '", reduction, "'");
  const Tensor x = a.tensor("input");
  SPARSEBIT_CHECK(x.dim() >= 2, InvalidArgument, "the input has ", x.dim(),
                  " axes, expected at least 2");
  return at::nll_loss_nd(x, a.tensor("target").to(at::kLong), a.optional_tensor("weight"), number,
                         a.optional_integer("ignore_index").value_or(-100));
}

}  // namespace

void add_onnx_math_operators(OperatorTable& table) {
  table.add({.name = "onnx.CumSum",
             .schema = "x, axis, exclusive=0, reverse=0",
             .forms = {"onnx.CumSum"},
             .kernel = cumsum});
  table.add({.name = "onnx.NegativeLogLikelihoodLoss",
             .schema = "input, target, weight=None, ignore_index=None, reduction='mean'",
             .forms = {"onnx.NegativeLogLikelihoodLoss"},
             .kernel = likelihood_loss});
}

}  // namespace sparsebit::fx
