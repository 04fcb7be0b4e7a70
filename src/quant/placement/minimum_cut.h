#pragma once

#include <cstdint>
#include <vector>

namespace sparsebit::quant {

/// Divides items into two sides, integer and float, at the least total cost. Costs are whole
/// numbers, so that the result does not depend on the order of additions; where both sides cost the
/// same, an item is on the integer side.
class MinimumCut {
 public:
  /// Larger than any real cost: for forbidden divisions.
  static constexpr int64_t kNever = int64_t{1} << 50;

  /// A new item; returns its number.
  int add_item();
  /// Adds the cost of an item on each side.
  void add_cost(int item, int64_t as_integer, int64_t as_float);
  /// Adds a cost that is paid if the first item is on the integer side and the second on the float
  /// side.
  void add_cost_between(int as_integer, int as_float, int64_t cost);

  /// Whether each item is on the integer side, by its number.
  std::vector<bool> solve();
  /// The least total cost, after solve().
  int64_t cost() const { return cost_; }

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };

  void add_edge(int from, int to, int64_t capacity);
  bool find_levels();
  int64_t push(int item, int64_t most);

  static constexpr int kInteger = 0, kFloat = 1;  // source and sink of the flow
  std::vector<Edge> edges_;                       // each followed by its reverse
  std::vector<std::vector<int>> leaving_ = std::vector<std::vector<int>>(2);
  std::vector<int> level_;
  std::vector<size_t> tried_;
  int64_t cost_ = 0;
};

}  // namespace sparsebit::quant
