#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::cli {

/// What --shape says about one input.
struct GivenShape {
  std::string text;   ///< as the user wrote it
  std::string input;  ///< empty: the only one that is open
  std::vector<int64_t> shape;
  std::optional<at::ScalarType> dtype;
};

/// Reads `NAME=1x3x224x224`, `NAME=1x16:int64` or, for a scalar, `NAME=scalar`; without `NAME=` it
/// is for the only input that is open. The name may hold any character. Throws UsageError.
GivenShape parse_shape(const std::string& text);

/// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const std::vector<int64_t>& shape);

/// A whole number of at most 64 bits and nothing else.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace sparsebit::cli
