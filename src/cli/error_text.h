#pragma once

#include <exception>
#include <span>
#include <string>

namespace sparsebit::cli {

/// What users read of an exception: libtorch's words about memory replaced by ours.
std::string error_text(const std::exception& error);
/// The same for a text that came out of libtorch.
std::string in_our_words(const std::string& text);

/// `text` with control characters of the command line's arguments escaped: a file's name may
/// contain a line break, but a message is one line.
std::string on_one_line(std::string text, std::span<const char* const> arguments);

}  // namespace sparsebit::cli
