#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::Value;

/// 1 at the position of the first largest element, 0 elsewhere.
Value hardmax(Conversion& c, const Value& x, int64_t dim) {
  const Value index = c.function("torch.argmax", {x, dim, true});
  return c.function("torch.scatter", {c.function("torch.zeros_like", {x}), dim, index, 1.0});
}

Value along(Conversion& c, const Value& x, int64_t dim) {
  if (c.type() == "Hardmax") return hardmax(c, x, dim);
  const bool is_log = c.type() == "LogSoftmax";
  return c.function(is_log ? "torch.nn.functional.log_softmax" : "torch.nn.functional.softmax", {x},
                    {{"dim", dim}});
}

/// Whether all axes after `axis` have size 1, so that flattening them changes nothing.
bool is_last(const std::optional<fx::TensorInfo>& info, int64_t axis) {
  if (axis == -1 || !info) return axis == -1;
  const auto rank = static_cast<int64_t>(info->shape.size());
  for (int64_t dim = (axis < 0 ? axis + rank : axis) + 1; dim < rank; ++dim) {
    if (info->shape[static_cast<size_t>(dim)] != 1) return false;
  }
  return true;
}

/// Until operator set 12, all axes from `axis` on are treated as one.
void convert_softmax(Conversion& c) {
  const bool flattens = c.opset() < 13;
  const int64_t axis = c.attributes().integer("axis", flattens ? 1 : -1);
  const auto rank = c.rank(0);
  SPARSEBIT_CHECK(!rank || (axis >= -*rank && axis < std::max<int64_t>(*rank, 1)), InvalidModel,
                  "axis is ", axis, ", its input has ", rank.value_or(0), " axes");
  const Value x = c.tensor(0);
  if (!flattens || is_last(c.info(0), axis)) return c.give(along(c, x, axis));
  const Value flat = along(c, c.function("torch.flatten", {x, axis}), -1);
  c.give(c.method("reshape_as", {flat, x}));
}

}  // namespace

void add_softmax_converters(Converters& r) {
  r.add("Hardmax", convert_softmax);
  r.add("LogSoftmax", convert_softmax);
  r.add("Softmax", convert_softmax);
}

}  // namespace sparsebit::frontends
