#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

Converter product(const char* left, const char* right) {
  return [=](Call& c) -> NodeResult {
    const OnnxTensor a = c.tensor(left), b = c.tensor(right);
    const OnnxTensor found =
        c.w.matmul(c.w.cast(a, computable(a.dtype)), c.w.cast(b, computable(b.dtype)));
    return c.w.cast(found, a.dtype);
  };
}

/// x * factor, unless the factor is 1.
OnnxTensor scaled(Call& c, const OnnxTensor& x, std::string_view name) {
  const NodeResult factor = c.val(name);
  const bool one = factor.is_plain() && factor.plain.to_double() == 1.0;
  return one ? x : c.w.mul(x, c.scalar(factor, x.dtype));
}

bool is_zero(Call& c, std::string_view name) {
  const NodeResult factor = c.val(name);
  return factor.is_plain() && factor.plain.to_double() == 0.0;
}

/// beta * input + alpha * product; torch ignores the input (even NaN) when beta is 0.
OnnxTensor accumulate(Call& c, const OnnxTensor& product) {
  const OnnxTensor right = scaled(c, product, "alpha");
  if (is_zero(c, "beta")) return right;
  return c.w.add(scaled(c, c.tensor("input"), "beta"), right);
}

NodeResult addmm(Call& c) {
  const OnnxTensor x = c.tensor("input"), a = c.tensor("mat1"), b = c.tensor("mat2");
  const bool fixed = !c.args()["beta"].is_node() && !c.args()["alpha"].is_node();
  const bool broadcasts = x.shape && x.rank() <= 2;
  if (fixed && broadcasts && at::isFloatingType(x.dtype) && !is_zero(c, "beta")) {
    return c.w.op("Gemm", {a, b, x}, {{"alpha", c.number("alpha")}, {"beta", c.number("beta")}},
                  x.dtype, Shape{a.size(0), b.size(1)});
  }
  return accumulate(c, c.w.matmul(a, b));
}

NodeResult outer(Call& c) {
  return c.w.mul(c.w.unsqueeze(c.tensor("input"), {1}), c.w.unsqueeze(c.tensor("vec2"), {0}));
}

/// Kronecker product: axes are interleaved, multiplied by broadcasting, then joined in pairs.
NodeResult kron(Call& c) {
  OnnxTensor a = c.tensor("input"), b = c.tensor("other");
  GraphWriter& w = c.w;
  while (a.rank() < b.rank()) a = w.unsqueeze(a, {0});
  while (b.rank() < a.rank()) b = w.unsqueeze(b, {0});
  if (!a.fixed() || !b.fixed()) c.unsupported("the operands must have fixed sizes");
  Ints odd, even;
  Shape shape;
  for (int64_t i = 0; i < a.rank(); ++i) {
    odd.push_back(2 * i + 1);
    even.push_back(2 * i);
    shape.push_back(a.size(i) * b.size(i));
  }
  return w.reshape(w.mul(w.unsqueeze(a, odd), w.unsqueeze(b, even)), shape);
}

NodeResult einsum(Call& c) {
  if (c.w.opset() < 12) c.unsupported("einsum needs opset 12 or newer");
  std::string equation = c.text("equation");
  std::erase(equation, ' ');
  return c.w.op("Einsum", c.tensors("operands"), {{"equation", equation.c_str()}},
                c.tensors("operands")[0].dtype, std::nullopt);
}

/// (sum |x|^p)^(1/p) along axes; no axes means all.
OnnxTensor vector_norm(GraphWriter& w, const OnnxTensor& x, double p, const Ints& axes,
                       bool keepdim) {
  const auto reduce = [&](const char* type, const OnnxTensor& y) {
    return y.rank() == 0 ? y : w.reduce(type, y, axes, keepdim);
  };
  const OnnxTensor size = w.unary("Abs", x);
  if (p == 1.0) return reduce("ReduceSum", size);
  if (p == 2.0) return w.unary("Sqrt", reduce("ReduceSum", w.mul(x, x)));
  if (std::isinf(p)) return reduce(p > 0 ? "ReduceMax" : "ReduceMin", size);
  if (p == 0.0) {
    const OnnxTensor nonzero = w.logical_not(w.compare("Equal", x, 0.0));
    return reduce("ReduceSum", w.cast(nonzero, x.dtype));
  }
  return w.pow(reduce("ReduceSum", w.pow(size, p)), 1.0 / p);
}

NodeResult norm(Call& c) {
  OnnxTensor x = c.tensor("input");
  const fx::Value& p = c.args()["p"];
  if (p.is_string() && p.string() == "nuc") c.unsupported("the nuclear norm has no ONNX form");
  const double order = p.is_none() || p.is_string() ? 2.0 : c.number("p");
  if (const auto dtype = c.args().optional_dtype("dtype")) x = c.w.cast(x, *dtype);
  const Ints axes = c.is_none("dim") ? Ints{} : c.ints("dim");
  return vector_norm(c.w, x, order, axes, c.flag("keepdim"));
}

NodeResult normalize(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const double p = c.is_none("p") ? 2.0 : c.number("p");
  const OnnxTensor length = vector_norm(c.w, x, p, c.ints("dim"), true);
  return c.w.div(x, c.w.maximum(length, c.w.scalar_like(c.number("eps"), x)));
}

/// x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))
NodeResult cosine_similarity(Call& c) {
  GraphWriter& w = c.w;
  const at::ScalarType dtype = result_type(c.val("x1"), c.val("x2"));
  const OnnxTensor a = c.operand(c.val("x1"), dtype), b = c.operand(c.val("x2"), dtype);
  const int64_t rank = std::max(a.rank(), b.rank());
  const int64_t dim = c.integer("dim"), from_end = dim < 0 ? dim : dim - rank;
  const OnnxTensor eps = w.scalar(c.number("eps"), dtype);
  const auto unit = [&](const OnnxTensor& x) {
    return w.div(x, w.maximum(vector_norm(w, x, 2.0, {from_end}, true), eps));
  };
  return w.reduce("ReduceSum", w.mul(unit(a), unit(b)), {from_end}, false);
}

NodeResult pairwise_distance(Call& c) {
  const OnnxTensor difference = c.w.add(c.w.sub(c.tensor("x1"), c.tensor("x2")), c.number("eps"));
  return vector_norm(c.w, difference, c.number("p"), {-1}, c.flag("keepdim"));
}

NodeResult cdist(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor difference =
      w.sub(w.unsqueeze(c.tensor("x1"), {-2}), w.unsqueeze(c.tensor("x2"), {-3}));
  return vector_norm(w, difference, c.number("p"), {-1}, false);
}

NodeResult cross(Call& c) {
  GraphWriter& w = c.w;
  const at::ScalarType dtype = result_type(c.val("input"), c.val("other"));
  const OnnxTensor a = c.operand(c.val("input"), dtype), b = c.operand(c.val("other"), dtype);
  int64_t dim = c.is_none("dim") ? -1 : c.integer("dim");
  if (c.is_none("dim")) {  // torch.cross takes the first dimension of size 3
    for (int64_t i = a.rank() - 1; i >= 0; --i) {
      if (a.size(i) == 3 && c.node().target() != "torch.linalg.cross") dim = i;
    }
  }
  const auto shifted = [&](const OnnxTensor& x, std::vector<int64_t> order) {
    return w.gather(x, w.ints(order), dim);
  };
  return w.sub(w.mul(shifted(a, {1, 2, 0}), shifted(b, {2, 0, 1})),
               w.mul(shifted(a, {2, 0, 1}), shifted(b, {1, 2, 0})));
}

}  // namespace

void add_matrix_converters(Converters& table) {
  table.add("matmul", product("input", "other"));
  table.add("mm", product("input", "mat2"));
  table.add("bmm", product("input", "mat2"));
  table.add("mv", product("input", "vec"));
  table.add("dot", product("input", "tensor"));
  table.add("outer", outer);
  table.add("kron", kron);
  table.add("einsum", einsum);
  table.add("det", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return c.w.op("Det", {x}, {}, x.dtype,
                  Shape(x.shape->begin(), x.shape->begin() + (x.rank() - 2)));
  });
  table.add("addmm", addmm);
  table.add("baddbmm", [](Call& c) -> NodeResult {
    return accumulate(c, c.w.matmul(c.tensor("batch1"), c.tensor("batch2")));
  });
  table.add("addbmm", [](Call& c) -> NodeResult {
    const OnnxTensor products = c.w.matmul(c.tensor("batch1"), c.tensor("batch2"));
    return accumulate(c, c.w.reduce("ReduceSum", products, {0}, false));
  });
  table.add("norm", norm);
  table.add("normalize", normalize);
  table.add("cosine_similarity", cosine_similarity);
  table.add("pairwise_distance", pairwise_distance);
  table.add("cdist", cdist);
  table.add("cross", cross);
}

}  // namespace sparsebit::exports
