#include "fx/ops/half_precision.h"

#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

/// A float16 tensor, its float32 copy, and the content of the copy before the kernel ran.
struct Widened {
  at::Tensor half, copy, before;
};

bool has_type(const Value& value, at::ScalarType type) {
  return value.is_tensor() && value.tensor().scalar_type() == type;
}

bool is_type(const Value& value, at::ScalarType type) {
  return value.is<at::ScalarType>() && value.get<at::ScalarType>() == type;
}

Value widen(const Value& value, std::vector<Widened>& widened) {
  if (is_type(value, at::kHalf)) return at::kFloat;  // a dtype argument
  if (!has_type(value, at::kHalf)) return value;
  const at::Tensor& half = value.tensor();
  for (const Widened& known : widened) {
    if (half.is_same(known.half)) return known.copy;
  }
  const at::Tensor copy = half.to(at::kFloat);
  return widened.emplace_back(Widened{half, copy, copy.detach().clone()}).copy;
}

Args widen(const Args& args, std::vector<Widened>& widened) {
  std::vector<Value> values;
  for (const Value& value : args.values()) {
    values.push_back(value.map_items([&](const Value& item) { return widen(item, widened); }));
  }
  return {args.schema(), std::move(values)};
}

/// Bit by bit: NaN is the same as itself.
bool is_same(const at::Tensor& a, const at::Tensor& b) {
  return a.detach().contiguous().view(at::kInt).equal(b.contiguous().view(at::kInt));
}

bool asks_for_float32(const Args& args) {
  return args.has("dtype") && is_type(args["dtype"], at::kFloat);
}

}  // namespace

bool misses_float16(const std::exception& e) {
  return message_of(e).find("not implemented for 'Half'") != std::string::npos;
}

Value run_in_float32(const Kernel& kernel, const Args& args) {
  std::vector<Widened> widened;
  const Value result = kernel(widen(args, widened));
  for (const Widened& tensor : widened) {  // in-place kernels and statistics in training
    if (!is_same(tensor.copy, tensor.before)) tensor.half.copy_(tensor.copy);
  }
  const bool keep = asks_for_float32(args);
  return result.map_items([&](const Value& item) -> Value {
    if (!has_type(item, at::kFloat)) return item;
    for (const Widened& tensor : widened) {
      if (item.tensor().is_same(tensor.copy)) return tensor.half;
    }
    return keep ? item : Value(item.tensor().to(at::kHalf));
  });
}

}  // namespace sparsebit::fx
