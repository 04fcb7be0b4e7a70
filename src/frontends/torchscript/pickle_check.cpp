#include "frontends/torchscript/archive_check.h"

#include <c10/util/StringUtil.h>

#include <cstdint>
#include <vector>

namespace sparsebit::frontends::torchscript {
namespace {

/// Follows a pickle's instructions as far as sizes go. Values have no meaning here; only how many
/// there are on the stack counts.
class PickleWalk {
 public:
  explicit PickleWalk(std::string_view record) : rest_(record), size_(record.size()) {}

  std::string problem() {
    while (problem_.empty() && !done_ && !rest_.empty()) {
      const char code = rest_.front();
      rest_.remove_prefix(1);
      step(code);
    }
    return problem_;
  }

 private:
  void step(char code) {
    switch (code) {
      case '\x80':  // the protocol
        return skip(1);
      case '(':
        return marks_.push_back(depth_);
      case ']':
      case ')':
      case '}':
      case 'N':
      case '\x88':
      case '\x89':
        return push(0);
      case 'K':
      case 'h':
        return push(1);
      case 'M':
        return push(2);
      case 'J':
      case 'j':
        return push(4);
      case 'G':
        return push(8);
      case '\x8a':
        return push(1 + 8);  // libtorch reads no other length
      case 'X':
        return text();
      case 'c':
        return global();
      default:
        return step_on_stack(code);
    }
  }

  void step_on_stack(char code) {
    switch (code) {
      case 'q':
        return remember(number(1));
      case 'r':
        return remember(number(4));
      case '\x85':
        return replace(1, 1);
      case '\x86':
        return replace(2, 1);
      case '\x87':
        return replace(3, 1);
      case 'Q':  // a tensor's storage
        return replace(1, 1);
      case '\x81':  // an object of the class below
      case 'R':
      case 'b':
        return replace(2, 1);
      case 's':
        return replace(3, 1);
      case 't':
      case 'l':
        return collect(Into::New, 1);
      case 'd':
        return collect(Into::New, 2);
      case 'e':
        return collect(Into::Below, 1);
      case 'u':
        return collect(Into::Below, 2);
      default:  // the end, or what libtorch refuses by itself
        done_ = true;
    }
  }

  enum class Into { New, Below };

  void fail(const char* what) { problem_ = c10::str(what, " at byte ", size_ - rest_.size()); }

  void skip(size_t bytes) {
    if (bytes > rest_.size()) {
      done_ = true;  // libtorch meets the end of the record, too
      return;
    }
    rest_.remove_prefix(bytes);
  }

  uint64_t number(size_t width) {
    uint64_t value = 0;
    for (size_t i = std::min(width, rest_.size()); i-- > 0;) {
      value = value << 8 | static_cast<uint8_t>(rest_[i]);
    }
    skip(width);
    return value;
  }

  void push(size_t payload) {
    skip(payload);
    ++depth_;
  }

  void text() {
    const uint64_t length = number(4);
    if (length > rest_.size()) return fail("a text longer than the record");
    push(length);
  }

  void global() {
    for (int line = 0; line < 2; ++line) {
      const size_t end = rest_.find('\n');
      skip(end == std::string_view::npos ? rest_.size() : end + 1);
    }
    ++depth_;
  }

  /// How many values there are after the last mark.
  size_t available() const { return depth_ - (marks_.empty() ? 0 : marks_.back()); }

  void replace(size_t taken, size_t given) {
    if (available() < taken) return fail("an instruction without its values");
    depth_ = depth_ - taken + given;
  }

  void remember(uint64_t place) {
    if (depth_ == 0) return fail("an instruction without its values");
    // Each place is named by an instruction of its own, of two bytes at least.
    if (place > size_) return fail("a place beyond the record's size");
  }

  void collect(Into into, size_t group) {
    if (marks_.empty()) return fail("a collection without a start");
    if (available() % group != 0) return fail("a key without a value");
    depth_ = marks_.back();
    marks_.pop_back();
    if (into == Into::New) return push(0);
    if (available() == 0) fail("a collection without a container");
  }

  std::string_view rest_;
  const size_t size_;
  size_t depth_ = 0;
  std::vector<size_t> marks_;
  bool done_ = false;
  std::string problem_;
};

}  // namespace

std::string pickle_problem(std::string_view record) { return PickleWalk(record).problem(); }

std::string source_problem(std::string_view code) {
  constexpr int kDeepest = 200;
  int brackets = 0, prefixes = 0, choices = 0, indent = 0;
  bool at_line_start = true;
  for (size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (at_line_start && c == ' ') {
      ++indent;
      continue;
    }
    at_line_start = c == '\n';
    if (at_line_start) indent = choices = 0;
    if (c == '(' || c == '[' || c == '{') ++brackets;
    if ((c == ')' || c == ']' || c == '}') && brackets > 0) --brackets;
    const bool is_word = i == 0 || code[i - 1] == ' ' || code[i - 1] == '(';
    if (c == '-' || c == '~' || c == '*' || (is_word && code.substr(i).starts_with("not"))) {
      ++prefixes;  // one operator after the other: -~-x
    } else if (c != ' ' && c != 'o' && c != 't') {
      prefixes = 0;
    }
    if (is_word && code.substr(i).starts_with("else")) ++choices;
    if (c == ',') choices = 0;
    if (brackets > kDeepest || prefixes > kDeepest || choices > kDeepest || indent > 2 * kDeepest) {
      return "its code is nested too deeply";
    }
  }
  return {};
}

}  // namespace sparsebit::frontends::torchscript
