#include "fx/ops/onnx_dtype.h"

#include "sparsebit/core/error.h"

namespace sparsebit::fx {

at::ScalarType onnx_dtype(const Args& a, std::string_view name) {
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

}  // namespace sparsebit::fx
