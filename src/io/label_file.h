#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace sparsebit::io {

/// Class numbers by file name: one line per sample, columns separated by tabs or commas. The first
/// integer column is the class; the file name is the first column with a dot or a slash. A first
/// line without an integer is a heading. Throws InvalidArgument, naming the line, for other lines.
std::map<std::string, int64_t> read_label_file(const std::filesystem::path& file);

}  // namespace sparsebit::io
