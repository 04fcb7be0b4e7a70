#pragma once

#include "text/regex.h"

#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

// Parts of a tokenizer.json.

namespace sparsebit::text {

/// Throws InvalidArgument when it is missing.
inline const nlohmann::json& field(const nlohmann::json& json, const char* key) {
  const bool has = json.is_object() && json.contains(key);
  SPARSEBIT_CHECK(has, InvalidArgument, "the key '", key, "' is missing");
  return json.at(key);
}

inline std::string text_of(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = field(json, key);
  SPARSEBIT_CHECK(value.is_string(), InvalidArgument, "'", key, "' is no text");
  return value.get<std::string>();
}

/// What null or a missing key stand for is `otherwise`.
inline bool flag_or(const nlohmann::json& json, const char* key, bool otherwise) {
  return json.contains(key) && json.at(key).is_boolean() ? json.at(key).get<bool>() : otherwise;
}

inline std::string text_or(const nlohmann::json& json, const char* key, std::string otherwise) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>()
                                                        : otherwise;
}

/// {"String": " "} or {"Regex": "\\s+"}
inline Regex pattern_of(const nlohmann::json& json) {
  if (json.contains("Regex")) return Regex(text_of(json, "Regex"));
  return Regex::literally(text_of(json, "String"));
}

/// What reads a part of this `type`. Throws Unsupported when there is none.
template <class Reader>
const Reader& reader_of(const nlohmann::json& json, const std::map<std::string, Reader>& readers,
                        const char* part) {
  const std::string type = text_of(json, "type");
  const auto found = readers.find(type);
  SPARSEBIT_CHECK(found != readers.end(), Unsupported, "the ", part, " '", type,
                  "' is not understood");
  return found->second;
}

}  // namespace sparsebit::text
