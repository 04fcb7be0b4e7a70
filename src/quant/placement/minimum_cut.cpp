#include "quant/placement/minimum_cut.h"

#include <algorithm>
#include <queue>

// The minimum cut equals the maximum flow (Ford and Fulkerson), computed by Dinic's algorithm
// (1970).

namespace sparsebit::quant {

int MinimumCut::add_item() {
  leaving_.emplace_back();
  return static_cast<int>(leaving_.size()) - 1;
}

void MinimumCut::add_cost(int item, int64_t as_integer, int64_t as_float) {
  const int64_t both = std::min(as_integer, as_float);  // paid on either side
  cost_ += both;
  if (as_float > both) add_edge(kInteger, item, as_float - both);
  if (as_integer > both) add_edge(item, kFloat, as_integer - both);
}

void MinimumCut::add_cost_between(int as_integer, int as_float, int64_t cost) {
  if (cost > 0) add_edge(as_integer, as_float, cost);
}

void MinimumCut::add_edge(int from, int to, int64_t capacity) {
  leaving_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  leaving_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

/// Computes the distances to the float end in the residual graph; whether the integer end is
/// connected to it.
bool MinimumCut::find_levels() {
  level_.assign(leaving_.size(), -1);
  level_[kFloat] = 0;
  std::queue<int> waiting({kFloat});
  while (!waiting.empty()) {
    const int item = waiting.front();
    waiting.pop();
    for (const int edge : leaving_[static_cast<size_t>(item)]) {
      const int before = edges_[static_cast<size_t>(edge)].to;
      const bool is_open = edges_[static_cast<size_t>(edge ^ 1)].capacity > 0;
      if (!is_open || level_[static_cast<size_t>(before)] >= 0) continue;
      level_[static_cast<size_t>(before)] = level_[static_cast<size_t>(item)] + 1;
      waiting.push(before);
    }
  }
  return level_[kInteger] >= 0;
}

int64_t MinimumCut::push(int item, int64_t most) {
  if (item == kFloat) return most;
  const auto& leaving = leaving_[static_cast<size_t>(item)];
  for (size_t& i = tried_[static_cast<size_t>(item)]; i < leaving.size(); ++i) {
    Edge& edge = edges_[static_cast<size_t>(leaving[i])];
    const bool nearer =
        level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(item)] - 1;
    if (edge.capacity <= 0 || !nearer) continue;
    const int64_t pushed = push(edge.to, std::min(most, edge.capacity));
    if (pushed == 0) continue;
    edge.capacity -= pushed;
    edges_[static_cast<size_t>(leaving[i] ^ 1)].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinimumCut::solve() {
  while (find_levels()) {
    tried_.assign(leaving_.size(), 0);
    for (int64_t pushed = 1; pushed > 0; cost_ += pushed) pushed = push(kInteger, kNever);
  }
  std::vector<bool> is_integer(leaving_.size());
  for (size_t item = 0; item < leaving_.size(); ++item) is_integer[item] = level_[item] < 0;
  return is_integer;
}

}  // namespace sparsebit::quant
