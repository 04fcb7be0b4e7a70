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

/// Each line is a path relative to the folder of the list, optionally followed by a class number
/// after a tab, a comma or a space. Empty lines and lines that start with # are skipped. Throws
/// InvalidArgument, naming the line, for a file that does not exist or has no image suffix.
std::vector<ListedImage> read_image_list(const std::filesystem::path& list);

}  // namespace sparsebit::io
