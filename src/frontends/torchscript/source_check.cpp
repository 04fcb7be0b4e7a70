// Measures how deeply code is nested: libtorch's parser and compiler are recursive.

#include "frontends/torchscript/archive_check.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sparsebit::frontends::torchscript {
namespace {

/// Scans code for its nesting depth and never underestimates it: chained operators nest as well, as
/// in `a + b + c`.
class SourceWalk {
 public:
  explicit SourceWalk(std::string_view code) : code_(code) {
    while (at_ < code_.size()) step();
    end_unit();
  }

  bool is_too_deep() const { return is_too_deep_; }
  int64_t depth() const { return depth_; }

 private:
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  bool starts(std::string_view text) const { return code_.substr(at_).starts_with(text); }

  void step() {
    const char c = code_[at_];
    if (at_line_start_ && is_blank(c)) return void(++at_ && ++indent_);
    if (c == '\n') return end_line();
    if (at_line_start_ && c != '#') start_line();
    if (is_name(c)) return word();
    if (c == '\'' || c == '"') return text(c);
    if (c == '#' && !starts("# type:")) {  // type comments are parsed
      at_ = std::min(code_.find('\n', at_), code_.size());
      return;
    }
    if (c == '\\') ++at_;  // the line goes on
    ++at_;
    symbol(c);
  }

  void symbol(char c) {
    constexpr std::string_view kOperators = "+-*/%<>=!&|^~@.";
    if (c == '(' || c == '[' || c == '{') {
      add_nesting();
      levels_.push_back(0);
    } else if (c == ')' || c == ']' || c == '}') {
      if (levels_.size() == 1) return;
      nesting_ -= levels_.back();
      levels_.pop_back();
    } else if (c == ',') {
      nesting_ -= levels_.back();
      levels_.back() = 0;
    } else if (kOperators.find(c) != std::string_view::npos) {
      add_nesting();
    }
  }

  /// Adds a level of nesting to the innermost brackets, until they end.
  void add_nesting() {
    constexpr int64_t kDeepest = 1000;
    ++levels_.back();
    ++nesting_;
    is_too_deep_ |= nesting_ > kDeepest;
    note_depth();
  }

  void note_depth() {
    deepest_ = std::max(deepest_, nesting_ + static_cast<int64_t>(indents_.size()));
  }

  void word() {
    size_t end = at_;
    while (end < code_.size() && is_name(code_[end])) ++end;
    const std::string_view name = code_.substr(at_, end - at_);
    at_ = end;
    for (const char* nesting : {"and", "or", "not", "if", "else", "is", "in"}) {
      if (name == nesting) add_nesting();
    }
    if (name == "elif") ++choices_;
  }

  /// Skips a string literal, whose end is found as in libtorch.
  void text(char quote) {
    const std::string mark(starts(std::string(3, quote)) ? 3 : 1, quote);
    at_ += mark.size();
    while (at_ < code_.size() && !starts(mark)) {
      if (code_[at_] == '\n' && mark.size() == 1) return;
      at_ += code_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + mark.size(), code_.size());
  }

  void start_line() {
    constexpr size_t kDeepest = 200, kWidest = 400;
    at_line_start_ = false;
    while (!indents_.empty() && indents_.back() >= indent_) indents_.pop_back();
    if (starts("def ") || starts("class ")) end_unit();
    indents_.push_back(indent_);
    is_too_deep_ |= indents_.size() > kDeepest || indent_ > kWidest;
    note_depth();
  }

  void end_line() {
    ++at_;
    if (levels_.size() > 1) return;  // inside brackets
    at_line_start_ = true;
    indent_ = 0;
    nesting_ = levels_.back() = 0;
  }

  /// Ends a unit: a function, or the part of a class before its functions.
  void end_unit() {
    constexpr int64_t kOfACall = 2;
    depth_ += kOfACall + choices_ + deepest_;
    choices_ = deepest_ = 0;
  }

  std::string_view code_;
  size_t at_ = 0;
  bool at_line_start_ = true;
  size_t indent_ = 0;
  std::vector<size_t> indents_;        // of the blocks around the line
  std::vector<int64_t> levels_ = {0};  // nesting by operators at each level of brackets
  int64_t nesting_ = 0;                // their sum
  int64_t choices_ = 0;                // of the unit; one is inside the other
  int64_t deepest_ = 0;                // of the unit
  int64_t depth_ = 0;
  bool is_too_deep_ = false;
};

}  // namespace

std::string source_problem(std::string_view code) {
  return SourceWalk(code).is_too_deep() ? "its code is nested too deeply" : "";
}

int64_t source_depth(std::string_view code) { return SourceWalk(code).depth(); }

}  // namespace sparsebit::frontends::torchscript
