#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit {

/// Whether all of `text` matches the shell pattern, exactly as Python's `fnmatch.fnmatchcase`.
///
///     *        any sequence of characters, including none, and including '.', '/' and newlines
///     ?        one character
///     [a-z_]   one character of the set; a ']' in first position is a member
///     [!a-z_]  one character outside the set
///
/// A '[' without its ']' stands for itself, and so do '^' and '\' everywhere. A range that runs
/// backwards, as in `[z-a]`, is empty. Characters are UTF-8 code points; a byte that is not valid
/// UTF-8 is one character. The run time is at most
/// proportional to length(text) * length(pattern).
bool glob_match(std::string_view text, std::string_view pattern);

/// Whether `text` matches at least one of the patterns.
bool glob_match_any(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace sparsebit
