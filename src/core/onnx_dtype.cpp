#include "sparsebit/core/onnx_dtype.h"

#include <array>

namespace sparsebit {

std::optional<at::ScalarType> dtype_of_onnx(int64_t number) {
  constexpr at::ScalarType none = at::ScalarType::Undefined;  // uint16, string, uint32, uint64
  static constexpr std::array<at::ScalarType, 17> types = {
      none,         at::kFloat, at::kByte,         at::kChar,
      none,         at::kShort, at::kInt,          at::kLong,
      none,         at::kBool,  at::kHalf,         at::kDouble,
      none,         none,       at::kComplexFloat, at::kComplexDouble,
      at::kBFloat16};
  if (number < 0 || number >= static_cast<int64_t>(types.size())) return std::nullopt;
  const at::ScalarType type = types[static_cast<size_t>(number)];
  return type == none ? std::nullopt : std::optional(type);
}

}  // namespace sparsebit
