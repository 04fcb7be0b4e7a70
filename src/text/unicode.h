#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Texts are UTF-8; invalid bytes are read as U+FFFD.

namespace sparsebit::text {

using CodePoint = int32_t;

std::vector<CodePoint> code_points(std::string_view text);
std::string utf8(CodePoint c);
/// Each code point of a text as a string.
std::vector<std::string> characters(std::string_view text);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
std::string normalized(std::string_view text, NormalForm form);
/// Converts each letter on its own, without context-dependent rules.
std::string lower_case(std::string_view text);
/// Combining marks: all of category M, or only nonspacing ones (Mn).
enum class Marks { All, NonSpacing };
std::string without_marks(std::string_view text, Marks marks);

/// Removes white space at the beginning (left) and at the end (right).
std::string stripped(std::string_view text, bool left, bool right);

bool is_space(CodePoint c);  ///< White_Space
bool is_control(
    CodePoint c);  ///< category C, except unassigned ones, tab, newline and carriage return
/// ASCII signs, and all of category P.
bool is_punctuation(CodePoint c);
bool is_number(CodePoint c);  ///< category N
bool is_chinese(CodePoint c);

}  // namespace sparsebit::text
