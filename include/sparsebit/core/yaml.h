#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsebit {

/// A node of a YAML document (JSON is YAML) that knows its file, line and key path, for error
/// messages.
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

  /// The entries of a map in file order; keys are unique. Throws InvalidArgument if not a map.
  const std::vector<Entry>& entries() const;
  /// The items of a list. Throws InvalidArgument if not a list.
  const std::vector<Yaml>& items() const;
  /// Null when the map has no such key.
  const Yaml* find(std::string_view key) const;
  /// Throws InvalidArgument with near keys when the map has no such key.
  const Yaml& get(std::string_view key) const;

  /// The type of a scalar by the rules of YAML; quoted scalars are always text.
  enum class ScalarType { Bool, Int, Double, Text };
  ScalarType scalar_type() const;

  // Scalars. Each throws InvalidArgument with the expected type, the value found and its position.
  // Numbers may be quoted, and a whole number may be written as 8.0.
  bool to_bool() const;  ///< true, false, yes, no, on, off, in any letter case
  int64_t to_int() const;
  double to_double() const;
  const std::string& to_text() const;
  /// The texts of a list of scalars.
  std::vector<std::string> to_texts() const;

  /// "qconfig.yaml:7: W.QUANTIZER.BIT", for messages.
  std::string where() const;
  /// "W.QUANTIZER.BIT", "SKIP[2]"; empty for the document itself.
  const std::string& path() const { return path_; }
  /// The value, for messages: "'eight'", "a list", "nothing".
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
  std::shared_ptr<const std::string> file_;
  int line_ = 0;  // counted from 1
};

/// Throws Io when the file cannot be read, InvalidArgument, naming the line, when it is not valid
/// YAML, has a duplicate key, or exceeds the limits: 1 MB, 100 levels, and, with all aliases
/// written out, 200,000 values and 32 MB of text and key paths; 1024 bytes in a key. Any file then
/// takes less than 250 MB of memory: yaml-cpp keeps 240 bytes for each bracket until all are
/// closed.
Yaml read_yaml(const std::filesystem::path& file);

/// @param name  name of the text in error messages.
Yaml parse_yaml(std::string_view text, const std::string& name);

}  // namespace sparsebit
