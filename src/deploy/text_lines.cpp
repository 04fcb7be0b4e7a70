#include "deploy/text_lines.h"

#include "deploy/number_text.h"

#include "sparsebit/core/error.h"

#include <sstream>

namespace sparsebit::deploy {
namespace {

template <class Number>
Number parsed(const std::string& word, const std::string& format) {
  Number value = 0;
  SPARSEBIT_CHECK(read_number(word, value), InvalidModel, format, ": '", word, "' is not a number");
  return value;
}

}  // namespace

std::vector<Words> words_of_lines(const std::string& text) {
  std::vector<Words> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Words& found = lines.emplace_back();
    for (std::string word; words >> word;) found.push_back(word);
    if (found.empty()) lines.pop_back();
  }
  return lines;
}

double number_of(const std::string& word, const std::string& format) {
  return parsed<double>(word, format);
}

float float_of(const std::string& word, const std::string& format) {
  return parsed<float>(word, format);
}

}  // namespace sparsebit::deploy
