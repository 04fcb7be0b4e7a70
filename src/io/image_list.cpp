#include "io/image_list.h"

#include "io/dataset_kinds.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

/// Trims a line. Returns whether it is neither empty nor a comment.
bool has_content(std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line[first] == '#') return false;
  line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
  return true;
}

/// Splits off a class number at the end; the path itself may contain blanks and commas.
ListedImage split_line(const std::string& line) {
  const size_t before = line.find_last_of("\t, ");
  if (before == std::string::npos) return {line};
  int64_t label = 0;
  const char* const start = line.data() + before + 1;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(start, end, label);
  if (error != std::errc() || stop != end || label < 0) return {line};
  return {line.substr(0, line.find_last_not_of("\t, ", before) + 1), label};
}

}  // namespace

bool is_image_list(const fs::path& file) {
  constexpr size_t kLongestLine = 4096;  // limits the search for a line end in binary files
  std::ifstream in(file);
  std::string line(kLongestLine, '\0');
  while (in.getline(line.data(), kLongestLine)) {
    std::string text = line.c_str();
    if (!has_content(text)) continue;
    // What follows a tab may be no class number; then the error of read_image_list() says so.
    return has_image_suffix(split_line(text).file) ||
           has_image_suffix(text.substr(0, text.find('\t')));
  }
  return false;
}

std::vector<ListedImage> read_image_list(const fs::path& list) {
  const MappedFile mapped(list);
  std::istringstream lines{std::string(mapped.bytes())};
  std::vector<ListedImage> images;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!has_content(line)) continue;
    ListedImage image = split_line(line);
    const std::string name = image.file.string();
    SPARSEBIT_CHECK(has_image_suffix(image.file), InvalidArgument, list.string(), ":", number,
                    ": expected an image (.jpg, .jpeg, .png, .bmp) and optionally a class number, "
                    "found '",
                    line, "'");
    image.file = list.parent_path() / image.file;  // absolute paths are kept
    std::error_code failed;                        // of a name that is too long, for instance
    SPARSEBIT_CHECK(fs::is_regular_file(image.file, failed), InvalidArgument, list.string(), ":",
                    number, ": no such image '", name,
                    "'; paths are relative to the folder of the list");
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace sparsebit::io
