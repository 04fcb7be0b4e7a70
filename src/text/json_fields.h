#pragma once

#include "text/regex.h"

#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

// Access to the fields of a tokenizer.json.

namespace sparsebit::text {

/// Throws InvalidArgument when the key is missing.
inline const nlohmann::json& field(const nlohmann::json& json, const char* key) {
  const bool has = json.is_object() && json.contains(key);
  SPARSEBIT_CHECK(has, InvalidArgument, "the key '", key, "' is missing");
  return json.at(key);
}

inline std::string text_of(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = field(json, key);
  SPARSEBIT_CHECK(value.is_string(), InvalidArgument, "'", key, "' is not a string");
  return value.get<std::string>();
}

inline bool is_told(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) && !json.at(key).is_null();
}

/// Returns `otherwise` for null or a missing key.
inline bool flag_or(const nlohmann::json& json, const char* key, bool otherwise) {
  if (!is_told(json, key)) return otherwise;
  SPARSEBIT_CHECK(json.at(key).is_boolean(), InvalidArgument, "'", key,
                  "' is neither true nor false");
  return json.at(key).get<bool>();
}

/// The id of a token. Throws InvalidArgument when it is not an integer from 0 to 2^32 - 1.
inline int64_t token_id(const nlohmann::json& json, const std::string& token) {
  constexpr int64_t kMost = (int64_t{1} << 32) - 1;
  const bool is_id = json.is_number_integer() && json.get<int64_t>() >= 0 &&
                     json.get<int64_t>() <= kMost &&
                     (!json.is_number_unsigned() || json.get<uint64_t>() <= kMost);
  SPARSEBIT_CHECK(is_id, InvalidArgument, "the id of '", token,
                  "' is not an integer from 0 to 2^32 - 1");
  return json.get<int64_t>();
}

inline std::string text_or(const nlohmann::json& json, const char* key, std::string otherwise) {
  return is_told(json, key) ? text_of(json, key) : std::move(otherwise);
}

/// {"String": " "} or {"Regex": "\\s+"}
inline Regex pattern_of(const nlohmann::json& json) {
  if (json.contains("Regex")) return Regex(text_of(json, "Regex"));
  return Regex::literally(text_of(json, "String"));
}

/// The reader for this component's `type`. Throws Unsupported when there is none.
template <class Reader>
const Reader& reader_of(const nlohmann::json& json, const std::map<std::string, Reader>& readers,
                        const char* part) {
  const std::string type = text_of(json, "type");
  const auto found = readers.find(type);
  SPARSEBIT_CHECK(found != readers.end(), Unsupported, "the ", part, " '", type,
                  "' is not supported");
  return found->second;
}

}  // namespace sparsebit::text
