#include "export/onnxruntime/onnxruntime_answer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/printable_text.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sparsebit::exports {
namespace {

using nlohmann::json;

/// Types that libtorch and ONNX Runtime both have, by the name the latter gives them.
constexpr std::array<std::pair<const char*, at::ScalarType>, 9> kTypes = {{{"float32", at::kFloat},
                                                                           {"float64", at::kDouble},
                                                                           {"float16", at::kHalf},
                                                                           {"int8", at::kChar},
                                                                           {"int16", at::kShort},
                                                                           {"int32", at::kInt},
                                                                           {"int64", at::kLong},
                                                                           {"uint8", at::kByte},
                                                                           {"bool", at::kBool}}};

std::optional<at::ScalarType> dtype_called(const std::string& name) {
  for (const auto& [type, dtype] : kTypes) {
    if (type == name) return dtype;
  }
  return std::nullopt;
}

[[noreturn]] void fail_invalid(const std::string& what) {
  throw Error(ErrorKind::Io, "invalid reply from ONNX Runtime: " + what);
}

/// The beginning of a reply, in quotes.
std::string quoted(const std::string& text) {
  constexpr size_t kShown = 100;
  return "'" + printable(std::string_view(text).substr(0, kShown)) +
         (text.size() > kShown ? "...'" : "'");
}

json parsed(const std::string& line) {
  constexpr int kDeepest = 8;
  constexpr size_t kMostValues = 1'000'000;  // each takes more memory than its text
  size_t values = 0;
  json root = json::parse(
      line,
      [&](int depth, json::parse_event_t, json&) {
        if (depth > kDeepest || ++values > kMostValues)
          fail_invalid(
              c10::str("JSON with more than ", kDeepest, " levels or ", kMostValues, " values"));
        return true;
      },
      false);
  if (root.is_discarded()) fail_invalid(quoted(line) + " is not JSON");
  if (!root.is_object()) fail_invalid(quoted(line) + " is not a JSON object");
  return root;
}

/// The bytes of a tensor; nothing when no memory holds them.
std::optional<int64_t> bytes_of(const std::vector<int64_t>& shape, at::ScalarType dtype) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(dtype));
  for (const int64_t size : shape) {  // sizes beside a zero, too: libtorch multiplies them
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? bytes : 0;
}

/// A number of bytes or elements.
int64_t size_in(const json& value, const std::string& of) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= std::numeric_limits<int64_t>::max()
                        : value.is_number_integer() && value.get<int64_t>() >= 0;
  if (!fits) fail_invalid(of + " with the size " + quoted(value.dump(-1, ' ', true)));
  return value.get<int64_t>();
}

const json& member(const json& object, const char* key, const std::string& of) {
  if (!object.is_object() || !object.contains(key)) fail_invalid(of + " without '" + key + "'");
  return object.at(key);
}

OrtTensor tensor_in(const json& value, const std::string& name) {
  const json& type = member(value, "type", name);
  const json& shape = member(value, "shape", name);
  constexpr size_t kMostDimensions = 64;
  if (!type.is_string()) fail_invalid(name + ": the type is not a string");
  if (!shape.is_array() || shape.size() > kMostDimensions)
    fail_invalid(c10::str(name, ": the shape is not a list of up to ", kMostDimensions, " sizes"));
  OrtTensor tensor{.type = type.get<std::string>(),
                   .dtype = dtype_called(type.get<std::string>()),
                   .shape = {},
                   .bytes = size_in(member(value, "bytes", name), name)};
  for (const json& size : shape) tensor.shape.push_back(size_in(size, name));
  if (!tensor.dtype) return tensor;
  const std::optional<int64_t> bytes = bytes_of(tensor.shape, *tensor.dtype);
  if (bytes != tensor.bytes)
    fail_invalid(c10::str(name, " of type ", tensor.type, " and shape ",
                          at::IntArrayRef(tensor.shape), " with ", tensor.bytes, " bytes"));
  return tensor;
}

}  // namespace

std::optional<std::string> ort_type(at::ScalarType dtype) {
  for (const auto& [type, known] : kTypes) {
    if (known == dtype) return type;
  }
  return std::nullopt;
}

OrtAnswer::OrtAnswer(const std::string& line) : root_(parsed(line)) {}

const json& OrtAnswer::at(const char* key) const { return member(root_, key, "an answer"); }

const json& OrtAnswer::list(const char* key, size_t size) const {
  const json& value = at(key);
  if (!value.is_array()) fail_invalid(c10::str("'", key, "' is not a list"));
  if (value.size() != size)
    fail_invalid(c10::str("'", key, "' has ", value.size(), " entries instead of ", size));
  return value;
}

bool OrtAnswer::flag(const char* key) const {
  const json& value = at(key);
  if (!value.is_boolean()) fail_invalid(c10::str("'", key, "' is neither true nor false"));
  return value.get<bool>();
}

int OrtAnswer::number(const char* key) const {
  const int64_t value = size_in(at(key), c10::str("'", key, "'"));
  if (value > std::numeric_limits<int>::max()) fail_invalid(c10::str("'", key, "' is too large"));
  return static_cast<int>(value);
}

std::string OrtAnswer::text(const char* key) const {
  const json& value = at(key);
  if (!value.is_string()) fail_invalid(c10::str("'", key, "' is not a string"));
  constexpr size_t kLongest = 4000;
  return printable(value.get_ref<const std::string&>().substr(0, kLongest));
}

std::vector<std::string> OrtAnswer::texts(const char* key) const {
  const json& value = at(key);
  const bool are_texts =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); });
  if (!are_texts) fail_invalid(c10::str("'", key, "' is not a list of strings"));
  return value.get<std::vector<std::string>>();
}

std::vector<std::vector<double>> OrtAnswer::table(const char* key, size_t rows,
                                                  size_t columns) const {
  std::vector<std::vector<double>> result;
  for (const json& row : list(key, rows)) {
    const bool are_numbers =
        row.is_array() && row.size() == columns &&
        std::all_of(row.begin(), row.end(), [](const json& v) { return v.is_number(); });
    if (!are_numbers)
      fail_invalid(c10::str("'", key, "' does not have ", columns, " numbers for each"));
    result.push_back(row.get<std::vector<double>>());
  }
  return result;
}

std::vector<OrtTensor> OrtAnswer::tensors(const char* key, size_t count) const {
  std::vector<OrtTensor> result;
  for (const json& value : list(key, count))
    result.push_back(tensor_in(value, c10::str("tensor ", result.size() + 1)));
  return result;
}

}  // namespace sparsebit::exports
