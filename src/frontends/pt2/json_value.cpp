#include "frontends/pt2/json_value.h"

#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace sparsebit::frontends::pt2 {
namespace {

using nlohmann::json;

/// Puts quotes around Infinity, -Infinity and NaN, which Python writes but JSON does not allow.
std::string quote_words(std::string text) {
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (!has("Infinity") && !has("NaN")) return text;
  std::string result;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      result += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (text.compare(i, word.size(), word) != 0) continue;
        result += '"' + std::string(word);
        i += word.size();
        result += '"';
        break;
      }
      if (i >= text.size()) break;
    }
    result += text[i];
  }
  return result;
}

}  // namespace

json parse_json(std::string text, const std::string& record) {
  json result = json::parse(quote_words(std::move(text)), nullptr, /*allow_exceptions=*/false);
  SPARSEBIT_CHECK(!result.is_discarded(), InvalidModel, "record '", record,
                  "' is damaged: it is not JSON");
  return result;
}

void JsonValue::fail(const std::string& what) const {
  throw Error(ErrorKind::InvalidModel, c10::str("its graph is damaged: ", place_, " ", what));
}

std::optional<JsonValue> JsonValue::find(const char* key) const {
  if (!value_->is_object()) fail("is not an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return JsonValue(*found, place_ + "." + key);
}

JsonValue JsonValue::operator[](const char* key) const {
  auto found = find(key);
  if (!found) fail(c10::str("has no '", key, "'"));
  return *found;
}

std::pair<std::string, JsonValue> JsonValue::alternative() const {
  for (auto& [key, value] : entries()) {
    if (!value.value_->is_null()) return {key, value};
  }
  fail("is empty");
}

std::vector<JsonValue> JsonValue::items() const {
  if (!value_->is_array()) fail("is not a list");
  std::vector<JsonValue> result;
  result.reserve(value_->size());
  for (const json& item : *value_)
    result.emplace_back(item, place_ + "[" + std::to_string(result.size()) + "]");
  return result;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::entries() const {
  if (!value_->is_object()) fail("is not an object");
  std::vector<std::pair<std::string, JsonValue>> result;
  for (const auto& [key, value] : value_->items())
    result.emplace_back(key, JsonValue(value, place_ + "." + key));
  return result;
}

bool JsonValue::is_text() const { return value_->is_string(); }

std::string JsonValue::text() const {
  if (!value_->is_string()) fail("is not a string");
  return value_->get<std::string>();
}

int64_t JsonValue::integer() const {
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() ||
                     value_->get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  if (!fits) fail("is not an integer");
  return value_->get<int64_t>();
}

double JsonValue::number() const {
  if (value_->is_number()) return value_->get<double>();
  const std::string word = value_->is_string() ? value_->get<std::string>() : "";
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail("is not a number");
}

bool JsonValue::flag() const {
  if (!value_->is_boolean()) fail("is neither true nor false");
  return value_->get<bool>();
}

}  // namespace sparsebit::frontends::pt2
