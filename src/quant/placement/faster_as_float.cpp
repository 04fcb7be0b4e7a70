#include "quant/placement/faster_as_float.h"

#include "quant/placement/minimum_cut.h"

#include "sparsebit/quant/regions/node_parts.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;

class Split {
 public:
  enum class Choice { Free, AllIntegers };

  Split(const std::vector<IntegerOption>& options, const KernelTimes& times, Choice choice)
      : options_(options), times_(times) {
    for (const IntegerOption& option : options) {
      items_.push_back(cut_.add_item());
      by_node_[option.node] = items_.size() - 1;
    }
    for (size_t i = 0; i < options.size(); ++i) add_node(i);
    for (size_t i = 0; i < options.size(); ++i) {
      for (Node* operand : options[i].operands) readers_[operand].push_back(i);
    }
    for (const IntegerOption& option : options) {
      for (Node* operand : option.operands) add_quantizing(*operand);
      if (option.may_give_floats) continue;
      for (Node* result : results_of(*option.node)) add_dequantizing(*result, option);
    }
    if (choice == Choice::Free) return;
    for (const int item : items_) cut_.add_cost(item, 0, MinimumCut::kNever);
  }

  std::vector<bool> solve() {
    const std::vector<bool> sides = cut_.solve();
    std::vector<bool> result;
    for (const int item : items_) result.push_back(sides[static_cast<size_t>(item)]);
    return result;
  }

  int64_t time() const { return cut_.cost(); }  ///< after solve()

 private:
  const IntegerOption* maker_of(const Node& value) const {
    const auto it = by_node_.find(&source_of(value));
    return it == by_node_.end() ? nullptr : &options_[it->second];
  }
  int item_of(const IntegerOption& option) const { return items_[by_node_.at(option.node)]; }

  void add_node(size_t number) {
    const IntegerOption& option = options_[number];
    if (!option.is_clipping) {
      cut_.add_cost(items_[number], option.time.as_integer, option.time.as_float);
      return;
    }
    // After a float layer it is fused with the layer. After an integer layer, a float clipping is a
    // separate kernel.
    const IntegerOption* before = maker_of(*option.operands.front());
    if (!before) return cut_.add_cost(items_[number], MinimumCut::kNever, 0);
    cut_.add_cost_between(items_[number], item_of(*before), MinimumCut::kNever);
    cut_.add_cost_between(item_of(*before), items_[number], option.time.as_float);
  }

  /// The cost of quantizing a value, paid once if it is computed in float and read as integers.
  void add_quantizing(const Node& value) {
    if (!quantized_.insert(&value).second) return;
    const int as_integers = cut_.add_item();
    for (const size_t reader : readers_.at(&value)) {
      if (!options_[reader].is_clipping)
        cut_.add_cost_between(items_[reader], as_integers, MinimumCut::kNever);
    }
    const IntegerOption* maker = maker_of(value);
    if (maker && maker->may_give_floats) return;
    const int64_t time = times_.to_quantize(value);
    if (maker)
      return cut_.add_cost_between(as_integers, item_of(*maker),
                                   time + maker->time.before_quantize);
    cut_.add_cost(as_integers, time, 0);
  }

  /// The cost of dequantizing a value, paid once if it is computed with integers and read as float.
  void add_dequantizing(Node& value, const IntegerOption& maker) {
    const int only_integers = cut_.add_item();
    const auto readers = readers_.find(&value);
    for (const Node* user : value.users()) {
      const auto it = by_node_.find(user);
      const bool reads_integers = it != by_node_.end() && readers != readers_.end() &&
                                  std::find(readers->second.begin(), readers->second.end(),
                                            it->second) != readers->second.end();
      if (reads_integers) {
        cut_.add_cost_between(only_integers, items_[it->second], MinimumCut::kNever);
      } else {
        cut_.add_cost(only_integers, MinimumCut::kNever, 0);
      }
    }
    cut_.add_cost_between(item_of(maker), only_integers, times_.to_dequantize(value));
  }

  const std::vector<IntegerOption>& options_;
  const KernelTimes& times_;
  MinimumCut cut_;
  std::vector<int> items_;  // of each option
  std::unordered_map<const Node*, size_t> by_node_;
  std::unordered_map<const Node*, std::vector<size_t>> readers_;  // options that read the value
  std::unordered_set<const Node*> quantized_;
};

}  // namespace

int64_t time_as_floats(const std::vector<IntegerOption>& options) {
  return std::accumulate(
      options.begin(), options.end(), int64_t{0},
      [](int64_t sum, const IntegerOption& option) { return sum + option.time.as_float; });
}

std::vector<bool> fastest_as_integers(const std::vector<IntegerOption>& options,
                                      const KernelTimes& times) {
  constexpr double kWorthIt = 0.95;  // maximal share of the time with int8 everywhere
  Split fastest(options, times, Split::Choice::Free);
  std::vector<bool> division = fastest.solve();
  Split integers(options, times, Split::Choice::AllIntegers);
  std::vector<bool> all = integers.solve();
  const bool is_worth_it =
      static_cast<double>(fastest.time()) < kWorthIt * static_cast<double>(integers.time());
  return is_worth_it ? division : all;
}

}  // namespace sparsebit::quant
