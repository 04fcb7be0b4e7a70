#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsebit {

/// A part of a YAML document (JSON is YAML) that knows where it stands, so that whoever reads it
/// can say what is wrong and where.
///
///     const Yaml config = read_yaml("qconfig.yaml");
///     const int64_t bits = config.get("W").get("QUANTIZER").get("BIT").to_int();
///     // qconfig.yaml:7: W.QUANTIZER.BIT: expected a whole number, found 'eight'
class Yaml {
 public:
  enum class Kind { Null, Scalar, List, Map };
  using Entry = std::pair<std::string, Yaml>;

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::Null; }
  bool is_scalar() const { return kind_ == Kind::Scalar; }
  bool is_list() const { return kind_ == Kind::List; }
  bool is_map() const { return kind_ == Kind::Map; }

  /// Of a map, in the order of the file; keys are unique. Throws InvalidArgument otherwise.
  const std::vector<Entry>& entries() const;
  /// Of a list. Throws InvalidArgument otherwise.
  const std::vector<Yaml>& items() const;
  /// Null when the map has no such key.
  const Yaml* find(std::string_view key) const;
  /// Throws InvalidArgument with near keys when the map has no such key.
  const Yaml& get(std::string_view key) const;

  /// What a scalar is by the rules of YAML: a quoted word is text whatever it looks like.
  enum class ScalarType { Bool, Int, Double, Text };
  ScalarType scalar_type() const;

  // Scalars. Each throws InvalidArgument saying what was expected, what was found and where.
  // Numbers may be quoted, and a whole number may be written as 8.0.
  bool to_bool() const;  ///< true, false, yes, no, on, off, whatever the case
  int64_t to_int() const;
  double to_double() const;
  const std::string& to_text() const;
  /// Of a list of scalars.
  std::vector<std::string> to_texts() const;

  /// "qconfig.yaml:7: W.QUANTIZER.BIT", for messages.
  std::string where() const;
  /// "W.QUANTIZER.BIT", "SKIP[2]"; empty for the document itself.
  const std::string& path() const { return path_; }
  /// What is there, for messages: "'eight'", "a list", "nothing".
  std::string describe() const;

 private:
  friend class YamlReader;

  [[noreturn]] void fail(const std::string& expected) const;

  Kind kind_ = Kind::Null;
  std::string text_;        // of a scalar
  bool is_quoted_ = false;  // a scalar in quotes
  std::vector<Yaml> items_;
  std::vector<Entry> entries_;
  std::string path_;
  std::string file_;
  int line_ = 0;  // counted from 1
};

/// Throws Io when the file cannot be read, InvalidArgument, naming the line, when it is no YAML,
/// has a key twice, or holds more than configuration files do (16 MiB, 100 levels).
Yaml read_yaml(const std::filesystem::path& file);

/// @param name  what messages call the text.
Yaml parse_yaml(std::string_view text, const std::string& name);

}  // namespace sparsebit
