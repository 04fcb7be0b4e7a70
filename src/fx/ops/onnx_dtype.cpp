#include "fx/ops/onnx_dtype.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/onnx_dtype.h"

namespace sparsebit::fx {

at::ScalarType onnx_dtype(const Args& a, std::string_view name) {
  const int64_t number = a.integer(name);
  const std::optional<at::ScalarType> dtype = dtype_of_onnx(number);
  SPARSEBIT_CHECK(dtype, InvalidArgument, name, " is ", number,
                  ", an element type that libtorch does not have");
  return *dtype;
}

}  // namespace sparsebit::fx
