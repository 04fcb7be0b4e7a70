#pragma once

#include <exception>
#include <span>
#include <string>

namespace sparsebit::easy {

/// The message of an exception for users, with libtorch's allocation errors reworded.
std::string error_text(const std::exception& error);
/// Rewords libtorch's allocation errors in a message.
std::string in_our_words(const std::string& text);

/// Escapes control characters of command line arguments quoted in `text`, such as a line break in a
/// file name, so that a message is one line.
std::string on_one_line(std::string text, std::span<const char* const> arguments);

}  // namespace sparsebit::easy
