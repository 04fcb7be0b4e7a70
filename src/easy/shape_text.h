#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::easy {

/// One --shape option.
struct GivenShape {
  std::string text;   ///< as the user wrote it
  std::string input;  ///< empty: the only dynamic input
  std::vector<int64_t> shape;
  std::optional<at::ScalarType> dtype;
};

/// Reads `NAME=1x3x224x224`, `NAME=1x16:int64` or, for a scalar, `NAME=scalar`; without `NAME=` it
/// is for the only dynamic input. The name may contain any character. Throws UsageError.
GivenShape parse_shape(const std::string& text);

/// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const std::vector<int64_t>& shape);

/// Parses a whole number that fits int64_t; nothing if the text is anything else.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace sparsebit::easy
