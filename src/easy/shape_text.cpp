#include "easy/shape_text.h"

#include "easy/usage_error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/ops/value.h"

#include <fmt/format.h>

#include <charconv>

namespace sparsebit::easy {
namespace {

constexpr const char* kScalar = "scalar";
constexpr at::ScalarType kTypes[] = {
    at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong,         at::kInt,
    at::kShort, at::kChar,   at::kByte, at::kBool,     at::kComplexFloat, at::kComplexDouble};

at::ScalarType parse_type(const std::string& name, const std::string& text) {
  std::vector<std::string> known;
  for (const at::ScalarType type : kTypes) {
    known.push_back(fx::dtype_name(type));
    if (known.back() == name) return type;
  }
  throw UsageError("--shape " + text + ": unknown type '" + name + "'" + did_you_mean(name, known));
}

[[noreturn]] void fail_shape(const std::string& text) {
  throw UsageError("--shape " + text + ": expected sizes such as 1x3x224x224 or NAME=1x3x224x224");
}

std::vector<int64_t> parse_dims(std::string_view dims, const std::string& text) {
  std::vector<int64_t> shape;
  if (dims == kScalar) return shape;
  while (true) {
    const size_t end = dims.find('x');
    const std::optional<int64_t> size = parse_number(dims.substr(0, end));
    if (!size || *size < 0) fail_shape(text);
    shape.push_back(*size);
    if (end == std::string_view::npos) return shape;
    dims.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return {};
  return number;
}

GivenShape parse_shape(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == 0) fail_shape(text);
  const bool has_name = equals != std::string::npos;
  GivenShape given{
      .text = text, .input = has_name ? text.substr(0, equals) : "", .shape = {}, .dtype = {}};
  std::string_view rest = std::string_view(text).substr(has_name ? equals + 1 : 0);
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    given.dtype = parse_type(std::string(rest.substr(colon + 1)), text);
    rest = rest.substr(0, colon);
  }
  given.shape = parse_dims(rest, text);
  return given;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? kScalar : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace sparsebit::easy
