#include "fx/ops/onnx_arguments.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx::onnx_args {

at::ScalarType dtype(const Args& a, const char* name) {
  const int64_t number = a.integer(name);
  switch (number) {
    case 1:
      return at::kFloat;
    case 2:
      return at::kByte;
    case 3:
      return at::kChar;
    case 5:
      return at::kShort;
    case 6:
      return at::kInt;
    case 7:
      return at::kLong;
    case 9:
      return at::kBool;
    case 10:
      return at::kHalf;
    case 11:
      return at::kDouble;
    case 16:
      return at::kBFloat16;
    default:
      throw Error(ErrorKind::InvalidArgument,
                  c10::str(name, " is ", number, ", a type that cannot be computed with"));
  }
}

std::vector<int64_t> ints(const Args& a, const char* name) {
  const Value& value = a[name];
  if (value.is_none()) return {};
  if (!value.is_tensor()) return a.ints(name);
  const at::Tensor& given = value.tensor();
  SPARSEBIT_CHECK(given.dim() <= 1 && at::isIntegralType(given.scalar_type(), false),
                  InvalidArgument, name, " must be a list of integers, got ", describe(value));
  const at::Tensor longs = given.to(at::kLong).contiguous();
  const auto* const data = longs.data_ptr<int64_t>();
  return {data, data + longs.numel()};
}

int64_t integer(const Args& a, const char* name) {
  const std::vector<int64_t> values = ints(a, name);
  SPARSEBIT_CHECK(values.size() == 1, InvalidArgument, name, " must be one integer, got ",
                  values.size());
  return values[0];
}

int64_t wrapped_axis(int64_t axis, int64_t rank) {
  SPARSEBIT_CHECK(axis >= -rank && axis < rank, InvalidArgument, "axis ", axis,
                  " does not exist, the input has ", rank, " axes");
  return axis < 0 ? axis + rank : axis;
}

}  // namespace sparsebit::fx::onnx_args
