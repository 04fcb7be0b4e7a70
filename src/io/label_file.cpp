#include "io/label_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

namespace sparsebit::io {
namespace {

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns = {""};
  for (const char c : line) {
    if (c == '\t' || c == ',') {
      columns.emplace_back();
    } else if (c != '\r') {
      columns.back() += c;
    }
  }
  return columns;
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty() ? std::optional(number)
                                                              : std::nullopt;
}

bool is_file_name(const std::string& text) { return text.find_first_of("./") != std::string::npos; }

}  // namespace

std::map<std::string, int64_t> read_label_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  std::istringstream lines{std::string(mapped.bytes())};
  std::map<std::string, int64_t> labels;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::optional<int64_t> label;
    std::string name;
    for (const std::string& column : columns_of(line)) {
      const std::optional<int64_t> found = whole_number(column);
      if (found && !label) label = found;
      if (!found && name.empty() && is_file_name(column)) name = column;
    }
    const bool is_heading = number == 1 && !label;
    if (line.empty() || is_heading) continue;
    SPARSEBIT_CHECK(label && *label >= 0 && !name.empty(), InvalidArgument, file.string(), ":",
                    number, ": expected a file name and a class number, found '", line, "'");
    const auto [it, is_new] = labels.emplace(name, *label);
    SPARSEBIT_CHECK(is_new || it->second == *label, InvalidArgument, file.string(), ":", number,
                    ": '", name, "' has class ", *label, ", but class ", it->second,
                    " in an earlier line");
  }
  SPARSEBIT_CHECK(!labels.empty(), InvalidArgument, file.string(), ": contains no labels");
  return labels;
}

}  // namespace sparsebit::io
