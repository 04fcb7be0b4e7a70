#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace sparsebit::io {

/// Class numbers by file name: a line per sample, columns separated by tabs or commas. One column
/// is a whole number, the class; another has a file name, which has a dot or a slash. A first line
/// without a number is a heading. Throws InvalidArgument, naming the line, for others.
std::map<std::string, int64_t> read_label_file(const std::filesystem::path& file);

}  // namespace sparsebit::io
