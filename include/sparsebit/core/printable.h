#pragma once

#include <string>
#include <string_view>

namespace sparsebit {

/// Text of somebody else (another program, a damaged file) that is safe in a message of one line
/// and in JSON: control characters become spaces, bytes that are not UTF-8 question marks.
std::string printable(std::string_view text);

/// The last `bytes` bytes of that text at most, from the beginning of a character.
std::string printable_end(std::string_view text, size_t bytes);

}  // namespace sparsebit
