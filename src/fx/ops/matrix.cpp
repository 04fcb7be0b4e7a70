#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include <ATen/ATen.h>

#include <functional>

namespace sparsebit::fx {
namespace {

/// Kernel of a function of two tensors.
template <class Function>
Kernel of_two(const char* left, const char* right, Function function) {
  return [=](const Args& a) -> Value { return function(a.tensor(left), a.tensor(right)); };
}

/// Kernel of `beta * input + alpha * (left @ right)` and the like.
template <class Pure, class Inplace>
Kernel accumulated(const char* left, const char* right, Pure pure, Inplace inplace) {
  return [=](const Args& a) -> Value {
    const at::Tensor x = a.tensor("input"), l = a.tensor(left), r = a.tensor(right);
    const at::Scalar beta = a.scalar("beta"), alpha = a.scalar("alpha");
    return a.flag("inplace") ? std::invoke(inplace, x, l, r, beta, alpha)
                             : pure(x, l, r, beta, alpha);
  };
}

/// torch ignores the input when beta is 0, so callers may pass at::empty(). libtorch 1.13 computes
/// 0 * garbage for small matrices, which can be NaN.
at::Tensor baddbmm(const at::Tensor& x, const at::Tensor& left, const at::Tensor& right,
                   const at::Scalar& beta, const at::Scalar& alpha) {
  if (beta.toDouble() != 0.0) return at::baddbmm(x, left, right, beta, alpha);
  return at::baddbmm(x.clone().zero_(), left, right, 1, alpha);
}

at::Tensor baddbmm_(at::Tensor x, const at::Tensor& left, const at::Tensor& right,
                    const at::Scalar& beta, const at::Scalar& alpha) {
  if (beta.toDouble() != 0.0) return x.baddbmm_(left, right, beta, alpha);
  return x.zero_().baddbmm_(left, right, 1, alpha);
}

Value cdist(const Args& a) {
  const int64_t mode = number_of(a, "compute_mode",
                                 {"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
                                  "donot_use_mm_for_euclid_dist"});
  return at::cdist(a.tensor("x1"), a.tensor("x2"), a.number("p"), mode);
}

Value normalize(const Args& a) {
  const at::Tensor x = a.tensor("input");
  const std::vector<int64_t> dims = a.ints("dim");
  const at::Tensor norm = x.norm(a.optional_scalar("p"), dims, /*keepdim=*/true);
  return x / norm.clamp_min(a.number("eps")).expand_as(x);
}

void add_products(OperatorTable& table) {
  table.add({.name = "matmul",
             .schema = "input, other",
             .forms = {"torch.matmul", "operator.matmul", "Tensor.matmul"},
             .multiplies_operands = true,
             .kernel = of_two("input", "other", at::matmul)});
  table.add({.name = "mm",
             .schema = "input, mat2",
             .forms = {"torch.mm", "Tensor.mm"},
             .multiplies_operands = true,
             .kernel = of_two("input", "mat2", at::mm)});
  table.add({.name = "bmm",
             .schema = "input, mat2",
             .forms = {"torch.bmm", "Tensor.bmm"},
             .multiplies_operands = true,
             .kernel = of_two("input", "mat2", at::bmm)});
  table.add({.name = "mv",
             .schema = "input, vec",
             .forms = {"torch.mv", "Tensor.mv"},
             .multiplies_operands = true,
             .kernel = of_two("input", "vec", at::mv)});
  table.add({.name = "dot",
             .schema = "input, tensor|other",
             .forms = {"torch.dot", "Tensor.dot"},
             .multiplies_operands = true,
             .kernel = of_two("input", "tensor", at::dot)});
  table.add({.name = "outer",
             .schema = "input, vec2",
             .forms = {"torch.outer", "Tensor.outer", "torch.ger", "Tensor.ger"},
             .growth = Growth::Product,
             .kernel = of_two("input", "vec2", at::outer)});
  table.add({.name = "kron",
             .schema = "input, other",
             .forms = {"torch.kron", "Tensor.kron"},
             .growth = Growth::Product,
             .kernel = of_two("input", "other", at::kron)});
  table.add({.name = "det",
             .schema = "input|A",
             .forms = {"torch.det", "torch.linalg.det", "Tensor.det"},
             .kernel = [](const Args& a) -> Value { return at::det(a.tensor("input")); }});
  table.add({.name = "einsum",
             .schema = "equation, *operands",
             .forms = {"torch.einsum"},
             .view = true,
             .growth = Growth::Product,
             .kernel = [](const Args& a) -> Value {
               return at::einsum(a.text("equation"), a.tensors("operands"));
             }});
}

void add_accumulated_products(OperatorTable& table) {
  table.add({.name = "addmm",
             .schema = "input, mat1, mat2, *, beta=1, alpha=1, inplace=False",
             .forms = {"torch.addmm", "Tensor.addmm"},
             .inplace = {"Tensor.addmm_"},
             .kernel = accumulated("mat1", "mat2", at::addmm, &at::Tensor::addmm_)});
  table.add({.name = "addbmm",
             .schema = "input, batch1, batch2, *, beta=1, alpha=1, inplace=False",
             .forms = {"torch.addbmm", "Tensor.addbmm"},
             .inplace = {"Tensor.addbmm_"},
             .growth = Growth::Product,
             .kernel = accumulated("batch1", "batch2", at::addbmm, &at::Tensor::addbmm_)});
  table.add({.name = "baddbmm",
             .schema = "input, batch1, batch2, *, beta=1, alpha=1, inplace=False",
             .forms = {"torch.baddbmm", "Tensor.baddbmm"},
             .inplace = {"Tensor.baddbmm_"},
             .kernel = accumulated("batch1", "batch2", baddbmm, baddbmm_)});
}

void add_distances(OperatorTable& table) {
  table.add(
      {.name = "cross",
       .schema = "input, other, dim=None",
       .forms = {"torch.cross", "Tensor.cross", {"torch.linalg.cross", "input, other, *, dim=-1"}},
       .kernel = [](const Args& a) -> Value {
         return at::cross(a.tensor("input"), a.tensor("other"), a.optional_integer("dim"));
       }});
  table.add({.name = "cosine_similarity",
             .schema = "x1, x2, dim=1, eps=1e-08",
             .forms = {"torch.cosine_similarity", "torch.nn.functional.cosine_similarity"},
             .modules = {{.type = "torch.nn.CosineSimilarity",
                          .constructor = "dim=1, eps=1e-08",
                          .forward = "x1, x2"}},
             .kernel = [](const Args& a) -> Value {
               return at::cosine_similarity(a.tensor("x1"), a.tensor("x2"), a.integer("dim"),
                                            a.number("eps"));
             }});
  table.add({.name = "pairwise_distance",
             .schema = "x1, x2, p=2.0, eps=1e-06, keepdim=False",
             .forms = {"torch.pairwise_distance", "torch.nn.functional.pairwise_distance"},
             .modules = {{.type = "torch.nn.PairwiseDistance",
                          .constructor = "p=2.0, eps=1e-06, keepdim=False",
                          .forward = "x1, x2"}},
             .kernel = [](const Args& a) -> Value {
               return at::pairwise_distance(a.tensor("x1"), a.tensor("x2"), a.number("p"),
                                            a.number("eps"), a.flag("keepdim"));
             }});
  table.add({.name = "cdist",
             .schema = "x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'",
             .forms = {"torch.cdist"},
             .growth = Growth::Product,
             .kernel = cdist});
  table.add({.name = "normalize",
             .schema = "input, p=2.0, dim=1, eps=1e-12",
             .forms = {"torch.nn.functional.normalize"},
             .kernel = normalize});
}

}  // namespace

void add_matrix_operators(OperatorTable& table) {
  add_products(table);
  add_accumulated_products(table);
  add_distances(table);
}

}  // namespace sparsebit::fx
