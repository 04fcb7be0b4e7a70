#include "sparsebit/core/yaml.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/near_match.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace sparsebit {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;
constexpr int kMostLevels = 100;
/// Aliases repeat the node of their anchor: a few lines can expand to billions of nodes.
constexpr size_t kMostNodes = 1'000'000;

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const char* begin = text.starts_with('+') ? text.data() + 1 : text.data();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end;
}

}  // namespace

/// Copies a yaml-cpp tree, adding key paths and rejecting duplicate keys, which yaml-cpp accepts.
class YamlReader {
 public:
  explicit YamlReader(std::string name) : name_(std::move(name)) {}

  Yaml read(std::string_view text) {
    try {
      return convert(YAML::Load(std::string(text)), "", 0);
    } catch (const YAML::Exception& e) {
      throw Error(ErrorKind::InvalidArgument,
                  c10::str(name_, ":", e.mark.line + 1, ": not valid YAML: ", e.msg));
    }
  }

 private:
  Yaml convert(const YAML::Node& node, const std::string& path, int level) {
    Yaml value;
    value.path_ = path;
    value.file_ = name_;
    value.line_ = node.Mark().line + 1;
    SPARSEBIT_CHECK(level < kMostLevels && ++count_ < kMostNodes, InvalidArgument, value.where(),
                    ": the document is nested too deeply or too large");
    if (node.IsMap()) {
      convert_entries(node, value, level);
    } else if (node.IsSequence()) {
      value.kind_ = Yaml::Kind::List;
      for (const YAML::Node& item : node) {
        const std::string index = "[" + std::to_string(value.items_.size()) + "]";
        value.items_.push_back(convert(item, path + index, level + 1));
      }
    } else if (node.IsScalar()) {
      value.kind_ = Yaml::Kind::Scalar;
      value.text_ = node.Scalar();
      value.is_quoted_ = node.Tag() == "!";
    }
    return value;
  }

  void convert_entries(const YAML::Node& node, Yaml& map, int level) {
    map.kind_ = Yaml::Kind::Map;
    std::set<std::string> keys;
    for (const auto& entry : node) {
      SPARSEBIT_CHECK(entry.first.IsScalar(), InvalidArgument, name_, ":",
                      entry.first.Mark().line + 1, ": a key must be a scalar");
      const std::string& key = entry.first.Scalar();
      SPARSEBIT_CHECK(keys.insert(key).second, InvalidArgument, name_, ":",
                      entry.first.Mark().line + 1, ": duplicate key '", key, "'");
      const std::string path = map.path_.empty() ? key : map.path_ + "." + key;
      map.entries_.emplace_back(key, convert(entry.second, path, level + 1));
      // A missing value has no position in the file: use that of its key.
      if (entry.second.IsNull()) map.entries_.back().second.line_ = entry.first.Mark().line + 1;
    }
  }

  std::string name_;
  size_t count_ = 0;
};

// --- reading -----------------------------------------------------------------------------------

std::string Yaml::where() const {
  return file_ + ":" + std::to_string(line_) + (path_.empty() ? "" : ": " + path_);
}

std::string Yaml::describe() const {
  switch (kind_) {
    case Kind::Null:
      return "nothing";
    case Kind::Scalar:
      return "'" + text_ + "'";
    case Kind::List:
      return "a list";
    case Kind::Map:
      return "a map";
  }
  return "?";
}

void Yaml::fail(const std::string& expected) const {
  throw Error(ErrorKind::InvalidArgument,
              where() + ": expected " + expected + ", found " + describe());
}

const std::vector<Yaml::Entry>& Yaml::entries() const {
  if (!is_map()) fail("a map (KEY: value)");
  return entries_;
}

const std::vector<Yaml>& Yaml::items() const {
  if (!is_list()) fail("a list");
  return items_;
}

const Yaml* Yaml::find(std::string_view key) const {
  const auto it = std::find_if(entries().begin(), entries().end(),
                               [&](const Entry& entry) { return entry.first == key; });
  return it == entries_.end() ? nullptr : &it->second;
}

const Yaml& Yaml::get(std::string_view key) const {
  if (const Yaml* value = find(key)) return *value;
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.first);
  throw Error(ErrorKind::InvalidArgument,
              c10::str(where(), ": the key '", key, "' is missing", did_you_mean(key, keys)));
}

Yaml::ScalarType Yaml::scalar_type() const {
  if (!is_scalar()) fail("a string or number");
  const std::string word = lower_case(text_);
  int64_t whole = 0;
  double number = 0;
  if (is_quoted_) return ScalarType::Text;
  if (word == "true" || word == "false") return ScalarType::Bool;
  if (read_number(text_, whole)) return ScalarType::Int;
  if (read_number(text_, number) && std::isfinite(number)) return ScalarType::Double;
  return ScalarType::Text;
}

const std::string& Yaml::to_text() const {
  if (!is_scalar()) fail("a string");
  return text_;
}

bool Yaml::to_bool() const {
  if (!is_scalar()) fail("true or false");
  const std::string text = lower_case(text_);
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text != "false" && text != "no" && text != "off") fail("true or false");
  return false;
}

int64_t Yaml::to_int() const {
  int64_t whole = 0;
  double number = 0;
  if (!is_scalar()) fail("a whole number");
  if (read_number(text_, whole)) return whole;
  constexpr double kExact = 9007199254740992.;  // 2^53; beyond it a double skips whole numbers
  const bool is_whole =
      read_number(text_, number) && std::abs(number) < kExact && number == std::floor(number);
  if (!is_whole) fail("a whole number");
  return static_cast<int64_t>(number);
}

double Yaml::to_double() const {
  double number = 0;
  const bool is_number = is_scalar() && read_number(text_, number) && std::isfinite(number);
  if (!is_number) fail("a number");
  return number;
}

std::vector<std::string> Yaml::to_texts() const {
  std::vector<std::string> texts;
  for (const Yaml& item : items()) texts.push_back(item.to_text());
  return texts;
}

Yaml parse_yaml(std::string_view text, const std::string& name) {
  SPARSEBIT_CHECK(text.size() <= kMostBytes, InvalidArgument, name,
                  ": too large for a configuration (", text.size(), " bytes)");
  return YamlReader(name).read(text);
}

Yaml read_yaml(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return parse_yaml(mapped.bytes(), file.string());
}

}  // namespace sparsebit
