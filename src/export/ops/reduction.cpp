#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

Ints dims_of(Call& c) { return c.is_none("dim") ? Ints{} : c.ints("dim"); }

/// The input in the type in which torch sums: `dtype` if given, otherwise int64 for integers.
OnnxTensor summand(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (const auto dtype = c.args().optional_dtype("dtype")) return c.w.cast(x, *dtype);
  return at::isIntegralType(x.dtype, /*includeBool=*/true) ? c.w.cast(x, at::kLong) : x;
}

NodeResult total(Call& c, const std::string& type) {
  const OnnxTensor x = summand(c), wide = c.w.cast(x, computable(x.dtype));
  if (x.rank() == 0) return x;
  return c.w.cast(c.w.reduce(type, wide, dims_of(c), c.flag("keepdim")), x.dtype);
}

/// Maximum or minimum, for types that ONNX's reductions do not support, too.
OnnxTensor extremum(Call& c, const std::string& type, const OnnxTensor& x, const Ints& dims,
                    bool keepdim) {
  if (x.rank() == 0) return x;
  const OnnxTensor wide = c.w.cast(x, computable(x.dtype));
  return c.w.cast(c.w.reduce(type, wide, dims, keepdim), x.dtype);
}

OnnxTensor arg_extremum(Call& c, const std::string& type, const OnnxTensor& x, int64_t dim,
                        bool keepdim) {
  GraphWriter& w = c.w;
  if (x.rank() == 0) return w.filled(w.ints({}), 0, at::kLong);
  return w.argument(type, w.cast(x, computable(x.dtype)), dim, keepdim);
}

Converter max_or_min(const std::string& kind) {
  return [kind](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    if (c.is_none("dim")) return extremum(c, "Reduce" + kind, x, {}, false);
    const NodeResult second = c.val("dim");
    if (holds_tensor(second)) {
      const NodeResult first = c.val("input");
      const at::ScalarType dtype = result_type(first, second), work = computable(dtype);
      const OnnxTensor a = c.operand(first, work), b = c.operand(second, work);
      return c.w.cast(kind == "Max" ? c.w.maximum(a, b) : c.w.minimum(a, b), dtype);
    }
    const int64_t dim = c.integer("dim");
    const bool keepdim = c.flag("keepdim");
    return NodeResult::sequence({extremum(c, "Reduce" + kind, x, {dim}, keepdim),
                                 arg_extremum(c, "Arg" + kind, x, dim, keepdim)});
  };
}

Converter arg_max_or_min(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    if (!c.is_none("dim")) return arg_extremum(c, type, x, c.integer("dim"), c.flag("keepdim"));
    const OnnxTensor found = arg_extremum(c, type, c.w.reshape(x, Shape{-1}), 0, false);
    if (!c.flag("keepdim") || x.rank() == 0) return found;
    return c.w.reshape(found, Shape(static_cast<size_t>(x.rank()), 1));
  };
}

/// Variance and mean, both with the reduced axes kept.
struct Moments {
  OnnxTensor variance, mean;
  Ints axes;
};

/// The number of reduced elements per result.
OnnxTensor count_elements(Call& c, const OnnxTensor& x, const Ints& axes) {
  GraphWriter& w = c.w;
  OnnxTensor count = w.ints({1});
  for (const int64_t axis : axes) count = w.mul(count, w.size_of(x, axis));
  return w.cast(w.squeeze(count, {0}), x.dtype);
}

Moments moments(Call& c) {
  const OnnxTensor x = c.tensor("input");
  GraphWriter& w = c.w;
  const bool short_form = c.args()["dim"].is_bool();  // torch.var(x, False): unbiased
  const bool unbiased = c.flag(short_form ? "dim" : "unbiased");
  const int64_t correction = c.is_none("correction") ? (unbiased ? 1 : 0) : c.integer("correction");
  Ints axes = short_form ? Ints{} : dims_of(c);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const OnnxTensor mean = w.reduce("ReduceMean", x, axes, true), centered = w.sub(x, mean);
  const OnnxTensor squares = w.mul(centered, centered);
  if (correction == 0) return {w.reduce("ReduceMean", squares, axes, true), mean, axes};
  const OnnxTensor count = w.sub(count_elements(c, x, axes), static_cast<double>(correction));
  const OnnxTensor positive = w.maximum(count, w.scalar_like(0, count));
  return {w.div(w.reduce("ReduceSum", squares, axes, true), positive), mean, axes};
}

Converter spread(bool root, bool with_mean) {
  return [=](Call& c) -> NodeResult {
    const Moments m = moments(c);
    const auto finish = [&](const OnnxTensor& x) {
      return c.flag("keepdim") ? x : c.w.squeeze(x, m.axes);
    };
    const OnnxTensor first = finish(root ? c.w.unary("Sqrt", m.variance) : m.variance);
    return with_mean ? NodeResult::sequence({first, finish(m.mean)}) : NodeResult(first);
  };
}

/// all() or any(): the minimum or maximum of the truth values.
Converter truth(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    const OnnxTensor bits = c.w.cast(c.w.cast(x, at::kBool), at::kInt);
    const OnnxTensor found =
        x.rank() == 0 ? bits : c.w.reduce(type, bits, dims_of(c), c.flag("keepdim"));
    return c.w.cast(found, x.dtype == at::kByte ? at::kByte : at::kBool);
  };
}

NodeResult count_nonzero(Call& c) {
  const OnnxTensor bits = c.w.cast(c.w.cast(c.tensor("input"), at::kBool), at::kLong);
  return bits.rank() == 0 ? bits : c.w.reduce("ReduceSum", bits, dims_of(c), false);
}

NodeResult logsumexp(Call& c) {
  const OnnxTensor x = float_input(c);
  return c.w.reduce("ReduceLogSumExp", x, c.ints("dim"), c.flag("keepdim"));
}

}  // namespace

void add_reduction_converters(Converters& table) {
  table.add("sum", [](Call& c) { return total(c, "ReduceSum"); });
  table.add("prod", [](Call& c) { return total(c, "ReduceProd"); });
  table.add("mean", [](Call& c) -> NodeResult {
    OnnxTensor x = c.tensor("input");
    if (const auto dtype = c.args().optional_dtype("dtype")) x = c.w.cast(x, *dtype);
    return x.rank() == 0 ? x : c.w.reduce("ReduceMean", x, dims_of(c), c.flag("keepdim"));
  });
  table.add("logsumexp", logsumexp);
  table.add("max", max_or_min("Max"));
  table.add("min", max_or_min("Min"));
  table.add("amax", [](Call& c) -> NodeResult {
    return extremum(c, "ReduceMax", c.tensor("input"), dims_of(c), c.flag("keepdim"));
  });
  table.add("amin", [](Call& c) -> NodeResult {
    return extremum(c, "ReduceMin", c.tensor("input"), dims_of(c), c.flag("keepdim"));
  });
  table.add("argmax", arg_max_or_min("ArgMax"));
  table.add("argmin", arg_max_or_min("ArgMin"));
  table.add("var", spread(false, false));
  table.add("std", spread(true, false));
  table.add("var_mean", spread(false, true));
  table.add("std_mean", spread(true, true));
  table.add("all", truth("ReduceMin"));
  table.add("any", truth("ReduceMax"));
  table.add("count_nonzero", count_nonzero);
}

}  // namespace sparsebit::exports
