#include "frontends/onnx/shape_rules.h"

namespace sparsebit::frontends {
namespace {

using fx::TensorInfo;
using Ints = std::vector<int64_t>;

MaybeInfo without(const TensorInfo& x, const std::optional<Ints>& axes, bool keep) {
  std::vector<bool> reduced(x.shape.size(), !axes);
  for (const int64_t axis : axes.value_or(Ints{})) {
    const auto i = axis_of(axis, x.shape.size());
    if (!i) return std::nullopt;
    reduced[*i] = true;
  }
  TensorInfo result{.shape = {}, .dtype = x.dtype};
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (!reduced[i]) {
      copy_size(x, i, result);
    } else if (keep) {
      add_size(result, 1);
    }
  }
  return result;
}

MaybeInfo reduction(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  const bool keep = c.attributes().flag("keepdims", true);
  if (c.has_input(1)) {
    const auto axes = c.constant_ints(1);
    if (axes && !axes->empty()) return without(*x, axes, keep);
    if (!axes) return keep ? MaybeInfo(unnamed(Ints(x->shape.size(), -1), x->dtype)) : std::nullopt;
  }
  const auto axes = c.attributes().ints("axes");
  if (axes && !axes->empty()) return without(*x, axes, keep);
  if (c.attributes().flag("noop_with_empty_axes", false)) return x;
  return without(*x, std::nullopt, keep);
}

MaybeInfo arg_reduction(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  MaybeInfo result =
      without(*x, Ints{c.attributes().integer("axis", 0)}, c.attributes().flag("keepdims", true));
  if (result) result->dtype = at::kLong;
  return result;
}

}  // namespace

void add_reduction_rules(ShapeRules& r) {
  for (const char* type :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    r[type] = reduction;
  }
  r["ArgMax"] = r["ArgMin"] = arg_reduction;
}

}  // namespace sparsebit::frontends
