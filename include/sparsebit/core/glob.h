#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit {

/// Whether all of `text` matches the shell pattern, exactly as Python's `fnmatch.fnmatchcase`.
///
///     *        anything, also nothing, and also '.', '/' and newlines
///     ?        one character
///     [a-z_]   one character of the set; a ']' that comes first is a member
///     [!a-z_]  one character outside the set
///
/// A '[' without its ']' stands for itself, and so do '^' and '\' everywhere. A range that runs
/// backwards, as in `[z-a]`, is empty. Characters are UTF-8 code points; a byte that is not valid
/// UTF-8 is one character. Takes at most length(text) * length(pattern) steps.
bool glob_match(std::string_view text, std::string_view pattern);

/// Whether `text` matches at least one of the patterns.
bool glob_match_any(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace sparsebit
