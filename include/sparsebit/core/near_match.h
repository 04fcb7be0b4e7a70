#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit {

/// The names in `known` that `name` was probably meant to be, best first, at most `limit` of them.
///
/// Compares by Damerau-Levenshtein distance, ignoring ASCII case. A candidate is plausible when its
/// distance is at most max(2, length of `name` / 3) and it shares at least one character, or when
/// one of the two contains the other (two characters or more). Ties keep the order of `known`.
std::vector<std::string> near_matches(std::string_view name, const std::vector<std::string>& known,
                                      size_t limit = 3);

/// The end of an error message: "; did you mean 'minmax'?", "; did you mean 'a', 'b' or 'c'?", or
/// nothing when no name in `known` is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace sparsebit
