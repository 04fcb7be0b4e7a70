#include "sparsebit/core/near_match.h"

#include "sparsebit/core/letter_case.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sparsebit {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`. Row and
// column 0 are a border of large values for swaps that would reach before the start.
size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t far = a.size() + b.size();
  std::vector<std::vector<size_t>> cost(a.size() + 2, std::vector<size_t>(b.size() + 2, far));
  for (size_t i = 0; i <= a.size(); ++i) cost[i + 1][1] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[1][j + 1] = j;

  std::array<size_t, 256> last_row_with{};  // 1-based row of `a` where a byte was last seen
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t last_equal = 0;  // 1-based column of `b` where this row last matched
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t row = last_row_with[static_cast<unsigned char>(b[j - 1])];
      const size_t column = last_equal;
      const bool equal = a[i - 1] == b[j - 1];
      if (equal) last_equal = j;
      const size_t swap = cost[row][column] + (i - row - 1) + 1 + (j - column - 1);
      cost[i + 1][j + 1] =
          std::min({cost[i][j] + (equal ? 0 : 1), cost[i + 1][j] + 1, cost[i][j + 1] + 1, swap});
    }
    last_row_with[static_cast<unsigned char>(a[i - 1])] = i;
  }
  return cost[a.size() + 1][b.size() + 1];
}

bool contains(std::string_view longer, std::string_view shorter) {
  return shorter.size() >= 2 && longer.find(shorter) != std::string_view::npos;
}

bool plausible(std::string_view name, std::string_view candidate, size_t distance) {
  const bool something_shared = distance < std::max(name.size(), candidate.size());
  const bool close = distance <= std::max<size_t>(2, name.size() / 3);
  return (close && something_shared) || contains(name, candidate) || contains(candidate, name);
}

}  // namespace

std::vector<std::string> near_matches(std::string_view name, const std::vector<std::string>& known,
                                      size_t limit) {
  const std::string wanted = lower_case(std::string(name));
  std::vector<std::pair<size_t, const std::string*>> ranked;
  for (const std::string& candidate : known) {
    const std::string lower = lower_case(candidate);
    const size_t distance = edit_distance(wanted, lower);
    if (plausible(wanted, lower, distance)) ranked.emplace_back(distance, &candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(limit, ranked.size()); ++i) nearest.push_back(*ranked[i].second);
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::string> nearest = near_matches(name, known);
  nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
  if (nearest.empty()) return "";
  std::string text = "; did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += "'" + nearest[i] + "'";
  }
  return text + "?";
}

}  // namespace sparsebit
