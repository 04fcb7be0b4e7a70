#include "io/safetensors_header.h"

#include "io/byte_count.h"

#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sparsebit::io {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 10> kDtypes = {{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
}};

std::string dtype_list() {
  std::string list;
  for (const auto& [name, dtype] : kDtypes) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

// Text as a JSON string. `what` describes the text in errors.
std::string quoted(const std::string& text, const char* what) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    const std::string printable = json(text).dump(-1, ' ', true, json::error_handler_t::replace);
    throw Error(ErrorKind::InvalidArgument,
                c10::str("safetensors: ", what, " ", printable, " is not valid UTF-8"));
  }
}

// Reads the header of one file. Errors name the file and, where applicable, the tensor.
class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, uint64_t data_bytes)
      : path_(path), data_bytes_(data_bytes) {}

  SafetensorsHeader read(std::string_view text) {
    const json root = parse(text);
    if (!root.is_object()) fail({.what = "the header is not a JSON object"});
    SafetensorsHeader header;
    for (const std::string& name : order_) {
      if (name == kMetadataKey) {
        header.metadata = read_metadata(root[name]);
      } else {
        header.tensors.push_back(read_tensor(name, root[name]));
      }
    }
    check_coverage(header.tensors);
    return header;
  }

 private:
  [[noreturn]] void fail(ErrorDetails details) const {
    details.where = path_.string();
    throw Error(ErrorKind::InvalidModel, std::move(details));
  }

  [[noreturn]] void fail(const std::string& tensor, const std::string& what,
                         std::string expected = "", std::string found = "") const {
    fail({.what = "tensor '" + tensor + "': " + what,
          .expected = std::move(expected),
          .found = std::move(found)});
  }

  // Records the order of the tensors, which json does not keep, and rejects duplicate keys, which
  // it accepts.
  json parse(std::string_view text) {
    std::vector<std::set<std::string>> keys;  // of the enclosing objects
    const auto on_event = [&](int depth, json::parse_event_t event, json& parsed) {
      if (depth > 3) fail({.what = "the header is nested too deeply"});
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key) note_key(keys, parsed.get<std::string>());
      return true;
    };
    try {
      return json::parse(text, on_event);
    } catch (const json::parse_error& e) {
      fail({.what = c10::str("the header is not valid JSON (at byte ", e.byte, " of it)")});
    } catch (const json::exception&) {  // a number too large for any type, among others
      fail({.what = "the header is not valid JSON"});
    }
  }

  void note_key(std::vector<std::set<std::string>>& keys, const std::string& key) {
    if (!keys.back().insert(key).second) {
      fail({.what = "duplicate key '" + key + "' in the header"});
    }
    if (keys.size() == 1) order_.push_back(key);
  }

  std::map<std::string, std::string> read_metadata(const json& value) const {
    if (!value.is_object()) fail({.what = "__metadata__ is not a JSON object"});
    std::map<std::string, std::string> metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail({.what = "__metadata__ entry '" + key + "' is not a string"});
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  TensorEntry read_tensor(const std::string& name, const json& value) const {
    if (!value.is_object()) fail(name, "its entry is not a JSON object");
    TensorEntry tensor{.name = name};
    tensor.dtype = read_dtype(name, member(name, value, "dtype"));
    tensor.shape = read_shape(name, member(name, value, "shape"));
    std::tie(tensor.begin, tensor.end) = read_offsets(name, member(name, value, "data_offsets"));
    for (const auto& [key, ignored] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(name, "unknown key '" + key + "'");
      }
    }
    const uint64_t bytes = size_in_bytes(tensor);
    if (tensor.end - tensor.begin != bytes) {
      fail(name, "data_offsets do not fit the shape", c10::str(bytes, " bytes"),
           c10::str(tensor.end - tensor.begin));
    }
    return tensor;
  }

  const json& member(const std::string& name, const json& value, const char* key) const {
    const auto it = value.find(key);
    if (it == value.end()) fail(name, c10::str("'", key, "' is missing"));
    return *it;
  }

  at::ScalarType read_dtype(const std::string& name, const json& value) const {
    if (!value.is_string()) fail(name, "dtype is not a string");
    const auto& wanted = value.get_ref<const std::string&>();
    const auto* it = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const auto& entry) { return entry.first == wanted; });
    if (it == kDtypes.end()) fail(name, "unknown dtype '" + wanted + "'; known: " + dtype_list());
    return it->second;
  }

  std::vector<int64_t> read_shape(const std::string& name, const json& value) const {
    if (!value.is_array()) fail(name, "shape is not a list");
    std::vector<int64_t> shape;
    for (const json& size : value) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) {
        fail(name, "a size in its shape is not valid", "an integer from 0 to 2^63 - 1",
             size.dump(-1, ' ', true, json::error_handler_t::replace));
      }
      shape.push_back(size.get<int64_t>());
    }
    return shape;
  }

  std::pair<uint64_t, uint64_t> read_offsets(const std::string& name, const json& value) const {
    const bool valid = value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
                       value[1].is_number_unsigned();
    if (!valid) fail(name, "data_offsets is not a list of two integers, zero or more");
    const auto begin = value[0].get<uint64_t>();
    const auto end = value[1].get<uint64_t>();
    if (begin > end || end > data_bytes_) {
      fail(name, "data_offsets are out of range", c10::str("0 <= begin <= end <= ", data_bytes_),
           c10::str("[", begin, ", ", end, "]"));
    }
    return {begin, end};
  }

  uint64_t size_in_bytes(const TensorEntry& tensor) const {
    const auto bytes =
        byte_count(tensor.shape, static_cast<int64_t>(c10::elementSize(tensor.dtype)));
    if (!bytes) fail(tensor.name, "its shape overflows");
    return static_cast<uint64_t>(*bytes);
  }

  // The tensors must cover the data exactly. Otherwise a file could hide other data, or a small
  // file could allocate much memory.
  void check_coverage(const std::vector<TensorEntry>& tensors) const {
    std::vector<const TensorEntry*> sorted;
    sorted.reserve(tensors.size());
    for (const TensorEntry& tensor : tensors) sorted.push_back(&tensor);
    std::sort(sorted.begin(), sorted.end(), [](const TensorEntry* a, const TensorEntry* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    uint64_t covered = 0;
    for (const TensorEntry* tensor : sorted) {
      if (tensor->begin != covered) {
        fail(tensor->name,
             tensor->begin < covered ? "its data overlaps that of another tensor"
                                     : "there is a gap before its data",
             c10::str("begin at ", covered), c10::str(tensor->begin));
      }
      covered = tensor->end;
    }
    if (covered != data_bytes_) {
      fail({.what = "the data does not end with the last tensor",
            .expected = c10::str(covered, " bytes of data"),
            .found = c10::str(data_bytes_)});
    }
  }

  const std::filesystem::path& path_;
  uint64_t data_bytes_;
  std::vector<std::string> order_;
};

std::string tensor_json(const TensorEntry& tensor) {
  const std::optional<std::string_view> dtype = dtype_name(tensor.dtype);
  SPARSEBIT_CHECK(dtype.has_value(), Internal, "safetensors: dtype without a name");
  const json shape = tensor.shape;
  const json offsets = {tensor.begin, tensor.end};
  return c10::str("{\"dtype\":\"", *dtype, "\",\"shape\":", shape.dump(),
                  ",\"data_offsets\":", offsets.dump(), "}");
}

}  // namespace

std::optional<std::string_view> dtype_name(at::ScalarType dtype) {
  for (const auto& [name, known] : kDtypes) {
    if (known == dtype) return name;
  }
  return std::nullopt;
}

// Written as text because inserting into ordered_json takes linear time per key.
std::string write_header(const SafetensorsHeader& header) {
  std::string text = "{";
  const auto separate = [&text] {
    if (text.back() != '{') text += ",";
  };
  if (!header.metadata.empty()) {
    text += "\"" + std::string(kMetadataKey) + "\":{";
    for (const auto& [key, value] : header.metadata) {
      separate();
      text += quoted(key, "metadata key") + ":" + quoted(value, "metadata value");
    }
    text += "}";
  }
  for (const TensorEntry& tensor : header.tensors) {
    SPARSEBIT_CHECK(tensor.name != kMetadataKey, InvalidArgument,
                    "safetensors: a tensor cannot be called '", kMetadataKey, "'");
    separate();
    text += quoted(tensor.name, "tensor name") + ":" + tensor_json(tensor);
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

SafetensorsHeader read_header(std::string_view text, uint64_t data_bytes,
                              const std::filesystem::path& path) {
  return HeaderReader(path, data_bytes).read(text);
}

}  // namespace sparsebit::io
