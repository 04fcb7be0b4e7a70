#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sparsebit::fuzz {

/// A fuzzer's bytes as decisions, one after the other; the first possibility when there are no
/// more.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool more() const { return at_ != end_; }
  /// A number below `count`; 0 when that is 0.
  size_t below(size_t count) {
    const size_t number = count > 256 ? byte() * size_t{256} + byte() : byte();
    return count == 0 ? 0 : number % count;
  }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }
  uint8_t byte() { return more() ? *at_++ : 0; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace sparsebit::fuzz
