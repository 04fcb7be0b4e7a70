#include "fx/ops/operand.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>

#include <algorithm>

namespace sparsebit::fx {
namespace {

at::ScalarType natural_dtype(const Value& data) {
  if (data.is_tensor()) return data.tensor().scalar_type();
  if (data.is_bool()) return at::kBool;
  if (data.is_int()) return at::kLong;
  const auto default_dtype = at::typeMetaToScalarType(at::get_default_dtype());
  if (!data.is_sequence() || data.items().empty()) return default_dtype;
  at::ScalarType widest = at::kBool;
  for (const Value& item : data.items()) widest = at::promote_types(widest, natural_dtype(item));
  return widest;
}

at::Tensor stack_nested(const Value& data, at::ScalarType dtype) {
  if (!data.is_sequence()) return at::scalar_tensor(data.to_scalar(), dtype);
  if (data.items().empty()) return at::empty({0}, dtype);
  std::vector<at::Tensor> rows;
  for (const Value& item : data.items()) rows.push_back(stack_nested(item, dtype));
  return at::stack(rows);
}

}  // namespace

at::Tensor operand(const Value& value) {
  if (value.is_tensor()) return value.tensor();
  if (!value.is_number()) {
    throw Error(
        ErrorKind::InvalidArgument,
        {.what = "wrong type", .expected = "a tensor or a number", .found = describe(value)});
  }
  return at::native::wrapped_scalar_tensor(value.to_scalar());
}

at::Tensor tensor_from(const Value& data, c10::optional<at::ScalarType> dtype) {
  if (data.is_tensor()) {
    const at::Tensor& tensor = data.tensor();
    return tensor.detach().to(dtype.value_or(tensor.scalar_type()), /*non_blocking=*/false,
                              /*copy=*/true);
  }
  return stack_nested(data, dtype.value_or(natural_dtype(data)));
}

Kernel elementwise(TensorBinary pure, PlainBinary plain) {
  return binary([=](const auto& x, const auto& y, const Args&) { return pure(x, y); }, plain);
}

Kernel elementwise(TensorBinary pure, TensorBinaryInplace inplace, PlainBinary plain) {
  return binary([=](const auto& x, const auto& y, const Args&) { return pure(x, y); },
                [=](at::Tensor& x, const at::Tensor& y, const Args&) { return (x.*inplace)(y); },
                plain);
}

std::vector<Form> function_and_method(std::initializer_list<std::string> names) {
  std::vector<Form> forms;
  for (const std::string& name : names) {
    forms.emplace_back(("torch." + name).c_str());
    forms.emplace_back(("Tensor." + name).c_str());
  }
  return forms;
}

}  // namespace sparsebit::fx
