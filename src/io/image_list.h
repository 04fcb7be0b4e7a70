#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sparsebit::io {

/// A line of a text file that lists images.
struct ListedImage {
  std::filesystem::path file;
  std::optional<int64_t> label = {};
};

/// A line each: a path, from the folder of the list on, and maybe a class number behind it after a
/// tab, a comma or a space. Empty lines and lines that start with # are skipped. Throws
/// InvalidArgument, naming the line, for a file that is not there or no image by its name.
std::vector<ListedImage> read_image_list(const std::filesystem::path& list);

}  // namespace sparsebit::io
