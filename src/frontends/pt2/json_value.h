#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// Parses a record of the archive. torch writes infinities and NaN as bare words, which JSON does
/// not allow; they become strings. Throws InvalidModel naming the record.
nlohmann::json parse_json(std::string text, const std::string& record);

/// A part of a JSON document that knows its position: `graph.nodes[3].target`. All access is
/// checked; errors are InvalidModel with the position.
class JsonValue {
 public:
  /// @param value  outlives this object.
  JsonValue(const nlohmann::json& value, std::string place)
      : value_(&value), place_(std::move(place)) {}

  const std::string& place() const { return place_; }

  /// The entry of an object; throws when it is missing.
  JsonValue operator[](const char* key) const;
  /// Empty when the entry is missing or null.
  std::optional<JsonValue> find(const char* key) const;
  /// The only entry of an object that is not null, which is how torch writes unions.
  std::pair<std::string, JsonValue> alternative() const;
  std::vector<JsonValue> items() const;
  std::vector<std::pair<std::string, JsonValue>> entries() const;

  bool is_text() const;
  std::string text() const;
  int64_t integer() const;
  double number() const;  ///< also "Infinity", "-Infinity" and "NaN"
  bool flag() const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace sparsebit::frontends::pt2
