#include "fx/ops/half_precision.h"

#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

/// A float16 tensor and the float32 copy that stands for it.
struct Widened {
  at::Tensor half, copy;
};

bool has_type(const Value& value, at::ScalarType type) {
  return value.is_tensor() && value.tensor().scalar_type() == type;
}

Args widen(const Args& args, std::vector<Widened>& widened) {
  std::vector<Value> values;
  for (const Value& value : args.values()) {
    values.push_back(value.map_items([&](const Value& item) -> Value {
      if (!has_type(item, at::kHalf)) return item;
      const at::Tensor& half = item.tensor();
      for (const Widened& known : widened) {
        if (half.is_same(known.half)) return known.copy;
      }
      return widened.emplace_back(Widened{half, half.to(at::kFloat)}).copy;
    }));
  }
  return {args.schema(), std::move(values)};
}

/// In-place kernels and statistics in training.
void write_back(const Widened& tensor) {
  if (at::equal(tensor.copy.detach(), tensor.half.detach().to(at::kFloat))) return;
  tensor.half.copy_(tensor.copy);
}

bool asks_for_float32(const Args& args) {
  return args.has("dtype") && args.optional_dtype("dtype") == at::kFloat;
}

}  // namespace

bool misses_float16(const std::exception& e) {
  return message_of(e).find("not implemented for 'Half'") != std::string::npos;
}

Value run_in_float32(const Kernel& kernel, const Args& args) {
  std::vector<Widened> widened;
  const Value result = kernel(widen(args, widened));
  for (const Widened& tensor : widened) write_back(tensor);
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
