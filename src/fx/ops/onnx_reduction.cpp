#include "fx/ops/families.h"
#include "fx/ops/onnx_input.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

// ONNX's reductions, for axes that are computed. With constant axes torch's functions are used.

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;
using Reduce = Tensor (*)(const Tensor&, at::IntArrayRef, bool);

Tensor sum(const Tensor& x, at::IntArrayRef dims, bool keep) {
  return at::sum(x, dims, keep, x.scalar_type());
}

Tensor prod(const Tensor& x, at::IntArrayRef dims, bool keep) {
  Tensor y = x;
  for (size_t i = dims.size(); i-- > 0;) y = at::prod(y, dims[i], keep, x.scalar_type());
  return y;
}

Tensor l1(const Tensor& x, at::IntArrayRef dims, bool keep) { return sum(x.abs(), dims, keep); }

Tensor sum_square(const Tensor& x, at::IntArrayRef dims, bool keep) {
  return sum(x.square(), dims, keep);
}

/// Integers are reduced as doubles.
template <Tensor (*Function)(const Tensor&, at::IntArrayRef, bool)>
Tensor in_floats(const Tensor& x, at::IntArrayRef dims, bool keep) {
  if (at::isFloatingType(x.scalar_type())) return Function(x, dims, keep);
  return Function(x.to(at::kDouble), dims, keep).to(x.scalar_type());
}

Tensor mean(const Tensor& x, at::IntArrayRef dims, bool keep) { return at::mean(x, dims, keep); }

Tensor l2(const Tensor& x, at::IntArrayRef dims, bool keep) {
  return at::linalg_vector_norm(x, 2, dims, keep);
}

Tensor log_sum(const Tensor& x, at::IntArrayRef dims, bool keep) {
  return at::log(at::sum(x, dims, keep));
}

Tensor log_sum_exp(const Tensor& x, at::IntArrayRef dims, bool keep) {
  return at::logsumexp(x, dims, keep);
}

Ints axes_of(const Args& a) { return a.is_none("axes") ? Ints{} : int_input(a, "axes"); }

Tensor unchanged(const Tensor& x) { return x; }

/// @param single  the reduction of single elements, for noop_with_empty_axes
void add(OperatorTable& table, const char* name, Reduce reduce,
         Tensor (*single)(const Tensor&) = unchanged) {
  table.add({.name = name,
             .schema = "data, axes=None, keepdims=1, noop_with_empty_axes=0",
             .forms = {name},
             .view = true,
             .kernel = [=](const Args& a) -> Value {
               const Tensor x = a.tensor("data");
               const Ints axes = axes_of(a);
               if (axes.empty() && a.flag("noop_with_empty_axes")) return single(x);
               return reduce(x, reduced_dims(axes, x.dim()), a.flag("keepdims"));
             }});
}

}  // namespace

void add_onnx_reduction_operators(OperatorTable& table) {
  add(table, "onnx.ReduceL1", l1, at::abs);
  add(table, "onnx.ReduceL2", in_floats<l2>, at::abs);
  add(table, "onnx.ReduceLogSum", in_floats<log_sum>, at::log);
  add(table, "onnx.ReduceLogSumExp", in_floats<log_sum_exp>);
  add(table, "onnx.ReduceMax", at::amax);
  add(table, "onnx.ReduceMean", in_floats<mean>);
  add(table, "onnx.ReduceMin", at::amin);
  add(table, "onnx.ReduceProd", prod);
  add(table, "onnx.ReduceSum", sum);
  add(table, "onnx.ReduceSumSquare", sum_square, at::square);
}

}  // namespace sparsebit::fx
