#pragma once

#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sparsebit {

/// The JSON in a text. Throws `kind`, naming the file and the line, when it is not valid.
template <class Json>
Json parse_json(std::string_view text, const std::string& file, ErrorKind kind) {
  size_t byte = 1;
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::parse_error& e) {
    byte = std::max<size_t>(e.byte, 1);
  } catch (const typename Json::exception&) {  // a number beyond all types, which has no place
  }
  const auto before = text.substr(0, std::min(byte - 1, text.size()));
  throw Error(kind, c10::str(file, ":", 1 + std::count(before.begin(), before.end(), '\n'),
                             ": not valid JSON"));
}

/// A part of a JSON text that knows its place in it: `images[3].file_name`. All access is checked;
/// errors are of one kind and read `file: place: expected a number, found a string`.
///
/// @tparam Json  nlohmann::json or nlohmann::ordered_json; the text outlives its views.
template <class Json>
class JsonView {
 public:
  JsonView(const Json& value, std::string file, ErrorKind kind)
      : JsonView(value, std::make_shared<const Source>(Source{std::move(file), kind}), "") {}

  const std::string& place() const { return place_; }

  /// The entry of an object; throws when it is missing.
  JsonView operator[](const std::string& key) const {
    const auto found = object().find(key);
    if (found == value_->end()) fail("the key '" + key + "' is missing");
    return entry(key, *found);
  }

  /// Nothing when it is missing or null.
  std::optional<JsonView> find(const std::string& key) const {
    const auto found = object().find(key);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return entry(key, *found);
  }

  std::vector<JsonView> items() const {
    if (!value_->is_array()) expected("a list");
    std::vector<JsonView> views;
    views.reserve(value_->size());
    for (const Json& item : *value_)
      views.push_back(JsonView(item, source_, place_ + "[" + std::to_string(views.size()) + "]"));
    return views;
  }

  std::vector<std::pair<std::string, JsonView>> entries() const {
    std::vector<std::pair<std::string, JsonView>> views;
    for (const auto& [key, value] : object().items()) views.emplace_back(key, entry(key, value));
    return views;
  }

  bool is_list() const { return value_->is_array(); }
  bool is_flag() const { return value_->is_boolean(); }

  std::string text() const {
    if (!value_->is_string()) expected("a string");
    return value_->template get<std::string>();
  }

  bool flag() const {
    if (!value_->is_boolean()) expected("true or false");
    return value_->template get<bool>();
  }

  double number() const {
    if (!value_->is_number()) expected("a number");
    return value_->template get<double>();
  }

  std::vector<double> numbers() const {
    std::vector<double> all;
    for (const JsonView& item : items()) all.push_back(item.number());
    return all;
  }

  /// Also one that is written with a fraction of zero.
  template <class Whole = int64_t>
  Whole integer() const {
    if (!value_->is_number()) expected("a whole number");
    using Limits = std::numeric_limits<Whole>;
    if (value_->is_number_integer()) {
      const bool fits = value_->is_number_unsigned()
                            ? std::in_range<Whole>(value_->template get<uint64_t>())
                            : std::in_range<Whole>(value_->template get<int64_t>());
      if (!fits) fail("the number is too large");
      return value_->template get<Whole>();
    }
    const auto number = value_->template get<double>();
    if (std::trunc(number) != number) expected("a whole number");
    // A power of two, which is exact, and one more than the largest.
    const double end = std::ldexp(1.0, Limits::digits);
    const double start = std::is_signed_v<Whole> ? -end : 0;
    if (number < start || number >= end) fail("the number is too large");
    return static_cast<Whole>(number);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(source_->kind, source_->file + ": " + (place_.empty() ? "" : place_ + ": ") + what);
  }

 private:
  struct Source {
    std::string file;
    ErrorKind kind;  ///< of errors
  };

  JsonView(const Json& value, std::shared_ptr<const Source> source, std::string place)
      : value_(&value), source_(std::move(source)), place_(std::move(place)) {}

  const Json& object() const {
    if (!value_->is_object()) expected("an object");
    return *value_;
  }

  JsonView entry(const std::string& key, const Json& value) const {
    return JsonView(value, source_, place_.empty() ? key : place_ + "." + key);
  }

  [[noreturn]] void expected(const char* what) const {
    fail(std::string("expected ") + what + ", found " + found());
  }

  const char* found() const {
    if (value_->is_object()) return "an object";
    if (value_->is_array()) return "a list";
    if (value_->is_string()) return "a string";
    if (value_->is_boolean()) return "true or false";
    if (value_->is_number()) return value_->is_number_integer() ? "a whole number" : "a fraction";
    return "null";
  }

  const Json* value_;
  std::shared_ptr<const Source> source_;
  std::string place_;
};

}  // namespace sparsebit
