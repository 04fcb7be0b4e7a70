#include "frontends/torchscript/archive_check.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sparsebit::frontends::torchscript {
namespace {

/// Containment between values. libtorch, and any code that uses its result, walks through the
/// values as a tree, in which a shared value is visited once per reference.
class Containment {
 public:
  size_t add_value() { return values_++; }
  void add(size_t container, size_t item) { edges_.emplace_back(item, container); }

  /// Empty when the tree is not much larger than the record.
  std::string problem() const {
    constexpr size_t kFew = 1 << 18, kMostTimes = 16, kDeepest = 1000;
    const size_t most = kFew + kMostTimes * values_;
    std::vector<size_t> starts(values_ + 2), containers(edges_.size()), open(values_);
    for (const auto& [item, container] : edges_) {
      ++starts[item + 2];
      ++open[container];
    }
    for (size_t i = 2; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (const auto& [item, container] : edges_) containers[starts[item + 1]++] = container;
    std::vector<size_t> sizes(values_, 1), depths(values_, 1), ready;
    for (size_t i = 0; i < values_; ++i) {
      if (open[i] == 0) ready.push_back(i);
    }
    for (size_t next = 0; next < ready.size(); ++next) {  // items before their containers
      const size_t item = ready[next];
      if (sizes[item] > most) return "its shared values expand to too many values";
      if (depths[item] > kDeepest) return "its values are nested too deeply";
      for (size_t i = starts[item]; i < starts[item + 1]; ++i) {
        const size_t container = containers[i];
        sizes[container] = std::min(most + 1, sizes[container] + sizes[item]);
        depths[container] = std::max(depths[container], depths[item] + 1);
        if (--open[container] == 0) ready.push_back(container);
      }
    }
    return ready.size() == values_ ? "" : "a value contains itself";
  }

 private:
  size_t values_ = 0;
  std::vector<std::pair<size_t, size_t>> edges_;  // item and container
};

/// Simulates a pickle's instructions without their values: only the number of values on the stack
/// and the containment between values are tracked.
class PickleWalk {
 public:
  explicit PickleWalk(std::string_view record) : rest_(record), size_(record.size()) {}

  std::string problem() {
    while (problem_.empty() && !done_ && !rest_.empty()) {
      const char code = rest_.front();
      rest_.remove_prefix(1);
      step(code);
    }
    return problem_.empty() ? values_.problem() : problem_;
  }

 private:
  void step(char code) {
    switch (code) {
      case '\x80':  // the protocol
        return skip(1);
      case '(':
        return marks_.push_back(stack_.size());
      case ']':
      case ')':
      case '}':
      case 'N':
      case '\x88':
      case '\x89':
        return push(0);
      case 'K':
        return push(1);
      case 'h':
        return recall(number(1));
      case 'M':
        return push(2);
      case 'J':
        return push(4);
      case 'j':
        return recall(number(4));
      case 'G':
        return push(8);
      case '\x8a':
        return push(1 + 8);  // the only length that libtorch supports
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
        return replace(1);
      case '\x86':
        return replace(2);
      case '\x87':
        return replace(3);
      case 'Q':  // a tensor's storage
        return replace(1);
      case '\x81':  // an object of the class below
      case 'R':
      case 'b':
        return replace(2);
      case 's':
        return set_item();
      case 't':
      case 'l':
        return collect(Into::New, 1);
      case 'd':
        return collect(Into::New, 2);
      case 'e':
        return collect(Into::Below, 1);
      case 'u':
        return collect(Into::Below, 2);
      default:  // the end, or an instruction that libtorch rejects
        done_ = true;
    }
  }

  enum class Into { New, Below };

  void fail(const char* what) { problem_ = c10::str(what, " at byte ", size_ - rest_.size()); }

  void skip(size_t bytes) {
    if (bytes > rest_.size()) {
      done_ = true;  // libtorch detects the end of the record as well
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
    stack_.push_back(values_.add_value());
  }

  void text() {
    const uint64_t length = number(4);
    if (length > rest_.size()) return fail("a string longer than the record");
    push(length);
  }

  void global() {
    for (int line = 0; line < 2; ++line) {
      const size_t end = rest_.find('\n');
      skip(end == std::string_view::npos ? rest_.size() : end + 1);
    }
    push(0);
  }

  /// The number of values after the last mark.
  size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  /// Moves the values from `first` on into a container.
  void take(size_t first, size_t container) {
    for (size_t i = first; i < stack_.size(); ++i) values_.add(container, stack_[i]);
    stack_.resize(first);
  }

  void replace(size_t taken) {
    if (available() < taken) return fail("an instruction without its operands");
    const size_t made = values_.add_value();
    take(stack_.size() - taken, made);
    stack_.push_back(made);
  }

  void set_item() {
    if (available() < 3) return fail("an instruction without its operands");
    take(stack_.size() - 2, stack_[stack_.size() - 3]);
  }

  void remember(uint64_t place) {
    if (stack_.empty()) return fail("an instruction without its operands");
    // Each memo index needs an instruction of at least two bytes.
    if (place > size_) return fail("a memo index beyond the record's size");
    places_[place] = stack_.back();
  }

  void recall(uint64_t place) {
    const auto found = places_.find(place);
    stack_.push_back(found == places_.end() ? values_.add_value() : found->second);
  }

  void collect(Into into, size_t group) {
    if (marks_.empty()) return fail("a collection without a start");
    if (available() % group != 0) return fail("a key without a value");
    const size_t first = marks_.back();
    marks_.pop_back();
    if (into == Into::Below && first == (marks_.empty() ? 0 : marks_.back()))
      return fail("a collection without a container");
    const size_t container = into == Into::New ? values_.add_value() : stack_[first - 1];
    take(first, container);
    if (into == Into::New) stack_.push_back(container);
  }

  std::string_view rest_;
  const size_t size_;
  Containment values_;
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint64_t, size_t> places_;
  bool done_ = false;
  std::string problem_;
};

}  // namespace

std::string pickle_problem(std::string_view record) { return PickleWalk(record).problem(); }

}  // namespace sparsebit::frontends::torchscript
