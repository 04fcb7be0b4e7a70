#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text of files, such as the names inside a model, is made safe here before it reaches a terminal:
// it may hold escape sequences, line breaks, bytes that are not UTF-8, and megabytes.

namespace sparsebit {

/// The most characters of one part of a message, and of one cell of a table.
inline constexpr size_t kMostOfMessage = 2000, kMostOfCell = 120;

/// `text` on one line: line breaks and tabs become `\n`, `\r` and `\t`, other control characters
/// and bytes that are not UTF-8 `\x1b`, and DEL, C1 controls, line separators and characters that
/// change the direction of writing `\u202e`, which JSON reads as well. Applying it twice changes
/// nothing more.
///
/// Of more than `most` characters the first ones are kept, followed by "... (N more characters)".
std::string printable(std::string_view text, size_t most = std::string_view::npos);

/// The same for text of several lines: line breaks (also CR LF) and tabs stay.
std::string printable_lines(std::string_view text);

/// How many bytes of `text` can be judged: its end may have cut a character, or CR LF.
size_t complete_bytes(std::string_view text);

}  // namespace sparsebit
