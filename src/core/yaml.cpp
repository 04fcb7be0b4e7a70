#include "sparsebit/core/yaml.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/printable_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <unordered_map>

namespace sparsebit {
namespace {

constexpr size_t kMostBytes = 1'000'000;
constexpr size_t kMostLevels = 100;
/// Aliases repeat the node of their anchor: a few lines can expand to billions of nodes.
constexpr size_t kMostNodes = 200'000;
/// Each node knows its key path, and aliases repeat texts.
constexpr size_t kMostText = 32'000'000;
constexpr size_t kLongestKey = 1024;

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const char* begin = text.starts_with('+') ? text.data() + 1 : text.data();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end;
}

[[noreturn]] void fail_too_large(const std::string& file, int line) {
  throw Error(ErrorKind::InvalidArgument,
              c10::str(file, ":", line, ": the document is nested too deeply or too large; the ",
                       "limits are ", kMostLevels, " levels, ", kMostNodes, " values and ",
                       kMostText / 1'000'000, " MB of text, with all aliases written out"));
}

}  // namespace

/// A node of the file. The items of a list, and the keys and values of a map, follow it.
struct YamlItem {
  Yaml::Kind kind = Yaml::Kind::Null;
  bool is_alias = false;
  bool is_quoted = false;
  int line = 0;
  size_t size = 0;    // nodes directly inside a list or map
  size_t target = 0;  // of an alias: the node of its anchor
  std::string text = {};
};

namespace {

/// Collects the nodes of a file in their order. yaml-cpp's own tree takes a kilobyte for each.
class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(const std::string& file) : file_(file) {}

  const std::vector<YamlItem>& items() const { return items_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlItem& item = add(mark, 0);
    item.is_alias = true;
    item.target = anchors_.at(anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlItem& item = add(mark, anchor);
    item.kind = Yaml::Kind::Scalar;
    item.text = value;
    item.is_quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::List);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::Map);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  YamlItem& add(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const bool fits = open_.size() < kMostLevels && items_.size() < 2 * kMostNodes;  // with keys
    if (!fits) fail_too_large(file_, mark.line + 1);
    if (!open_.empty()) ++items_[open_.back()].size;
    if (anchor != 0) anchors_[anchor] = items_.size();
    return items_.emplace_back(YamlItem{.line = mark.line + 1});
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    add(mark, anchor).kind = kind;
    open_.push_back(items_.size() - 1);
  }

  const std::string& file_;
  std::vector<YamlItem> items_;
  std::vector<size_t> open_;  // lists and maps that have not ended, outermost first
  std::unordered_map<YAML::anchor_t, size_t> anchors_;
};

bool indents_with_tab(std::string_view text) {
  return text.starts_with('\t') || text.find("\n\t") != std::string_view::npos ||
         text.find(" \t") != std::string_view::npos;
}

std::vector<YamlItem> items_of(std::string_view text, const std::string& file) {
  YamlEvents events(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser(stream).HandleNextDocument(events);
  } catch (const YAML::Exception& e) {
    const char* hint = indents_with_tab(text) ? " (YAML is indented with spaces, not tabs)" : "";
    throw Error(ErrorKind::InvalidArgument,
                c10::str(file, ":", e.mark.line + 1, ": not valid YAML: ", printable(e.msg), hint));
  }
  return events.items();
}

}  // namespace

/// Makes the tree of a file's nodes, with key paths; rejects duplicate keys, which yaml-cpp
/// accepts.
class YamlReader {
 public:
  explicit YamlReader(std::string name)
      : name_(std::make_shared<const std::string>(std::move(name))) {}

  Yaml read(std::string_view text) {
    items_ = items_of(text, *name_);
    if (items_.empty()) items_.emplace_back();  // an empty document
    size_t first = 0;
    return convert(first, "", 0);
  }

 private:
  /// Converts the node at `at` and moves `at` past it.
  Yaml convert(size_t& at, const std::string& path, size_t level) {
    const YamlItem& item = items_[at++];
    if (item.is_alias) {
      size_t target = item.target;
      return convert(target, path, level);
    }
    Yaml value;
    value.path_ = path;
    value.file_ = name_;
    value.line_ = item.line;
    text_ += path.size() + item.text.size();
    if (level >= kMostLevels || ++count_ > kMostNodes || text_ > kMostText)
      fail_too_large(*name_, item.line);
    value.kind_ = item.kind;
    value.text_ = item.text;
    value.is_quoted_ = item.is_quoted;
    if (item.kind == Yaml::Kind::Map) convert_entries(at, item.size / 2, value, level);
    if (item.kind != Yaml::Kind::List) return value;
    for (size_t i = 0; i < item.size; ++i)
      value.items_.push_back(convert(at, path + "[" + std::to_string(i) + "]", level + 1));
    return value;
  }

  void convert_entries(size_t& at, size_t count, Yaml& map, size_t level) {
    std::set<std::string_view> keys;
    for (size_t i = 0; i < count; ++i) {
      const YamlItem& item = items_[at++];
      const YamlItem& key = item.is_alias ? items_[item.target] : item;
      const std::string where = c10::str(*name_, ":", key.line);
      SPARSEBIT_CHECK(key.kind == Yaml::Kind::Scalar, InvalidArgument, where,
                      ": a key must be a scalar");
      SPARSEBIT_CHECK(key.text.size() <= kLongestKey, InvalidArgument, where, ": a key has ",
                      key.text.size(), " characters; the limit is ", kLongestKey);
      SPARSEBIT_CHECK(keys.insert(key.text).second, InvalidArgument, where, ": duplicate key '",
                      key.text, "'");
      const std::string path = map.path_.empty() ? key.text : map.path_ + "." + key.text;
      map.entries_.emplace_back(key.text, convert(at, path, level + 1));
      // A missing value has no position in the file: use that of its key.
      Yaml& value = map.entries_.back().second;
      if (value.is_null()) value.line_ = key.line;
    }
  }

  std::shared_ptr<const std::string> name_;
  std::vector<YamlItem> items_;
  size_t count_ = 0;
  size_t text_ = 0;  // bytes of texts and key paths so far
};

// --- reading -----------------------------------------------------------------------------------

std::string Yaml::where() const {
  const std::string line = line_ > 0 ? ":" + std::to_string(line_) : "";  // 0: an empty file
  return (file_ ? *file_ : "") + line + (path_.empty() ? "" : ": " + path_);
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
                  ": too large for a configuration (", text.size(), " bytes; the limit is ",
                  kMostBytes / 1'000'000, " MB)");
  return YamlReader(name).read(text);
}

Yaml read_yaml(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return parse_yaml(mapped.bytes(), file.string());
}

}  // namespace sparsebit
