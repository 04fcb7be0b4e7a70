#pragma once

#include <string>
#include <vector>

namespace sparsebit::deploy {

/// A line of a text file, split at whitespace.
using Words = std::vector<std::string>;

/// The lines of a text, without empty ones.
std::vector<Words> words_of_lines(const std::string& text);

/// Parses a word as a number. Throws InvalidModel, naming the format and the word.
double number_of(const std::string& word, const std::string& format);
float float_of(const std::string& word, const std::string& format);

}  // namespace sparsebit::deploy
