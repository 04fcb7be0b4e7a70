#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sparsebit {

/// "1 node", "2 nodes"; "1 class", "2 classes" with `plural` for words that do not take an s.
inline std::string how_many(int64_t count, std::string_view one, std::string_view plural = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(one);
  return plural.empty() ? text.append(one).append("s") : text.append(plural);
}

}  // namespace sparsebit
