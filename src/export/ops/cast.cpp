#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <map>
#include <string>

namespace sparsebit::exports {
namespace {

/// Tensor.to: finds the dtype in any position of the arguments; devices are ignored.
NodeResult to(Call& c) {
  const OnnxTensor x = c.tensor("input");
  at::ScalarType dtype = x.dtype;
  const auto take = [&](const NodeResult& v) {
    if (holds_tensor(v)) dtype = dtype_of(v);
    if (v.is_plain() && v.plain.is<at::ScalarType>()) dtype = v.plain.dtype();
  };
  for (const fx::Value& item : c.args()["target"].items()) take(c.value(item));
  take(c.val("other"));
  take(c.val("dtype"));
  return x.dtype == dtype ? c.val("input") : NodeResult(c.w.cast(x, dtype));
}

const std::map<std::string, at::ScalarType>& old_type_names() {
  static const std::map<std::string, at::ScalarType> names = {
      {"torch.FloatTensor", at::kFloat}, {"torch.DoubleTensor", at::kDouble},
      {"torch.HalfTensor", at::kHalf},   {"torch.BFloat16Tensor", at::kBFloat16},
      {"torch.LongTensor", at::kLong},   {"torch.IntTensor", at::kInt},
      {"torch.ShortTensor", at::kShort}, {"torch.CharTensor", at::kChar},
      {"torch.ByteTensor", at::kByte},   {"torch.BoolTensor", at::kBool}};
  return names;
}

NodeResult type(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const fx::Value& wanted = c.args()["dtype"];
  if (wanted.is<at::ScalarType>()) return c.w.cast(x, wanted.dtype());
  for (const auto& [name, dtype] : old_type_names()) {
    if (wanted.is_none() && dtype == x.dtype) return fx::Value(name);
    if (wanted.is_string() && wanted.string() == name) return c.w.cast(x, dtype);
  }
  c.unsupported("unknown tensor type");
}

/// One element as a Python number.
NodeResult item(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const OnnxTensor number = x.shape && x.rank() == 0 ? x : c.w.reshape(x, Shape{});
  if (x.dtype == at::kBool) return NodeResult::number(number);
  return NodeResult::number(
      c.w.cast(number, at::isFloatingType(x.dtype) ? at::kDouble : at::kLong));
}

}  // namespace

void add_cast_converters(Converters& table) {
  table.add("to", to);
  table.add("type", type);
  table.add("item", item);
  // A copy has the same ONNX value but is another tensor: a later in-place change affects only one
  // of them.
  table.add("clone", [](Call& c) -> NodeResult { return c.tensor("input"); });
  for (const char* name : {"contiguous", "detach", "requires_grad"})
    table.add(name, [](Call& c) { return c.val("input"); });
}

}  // namespace sparsebit::exports
