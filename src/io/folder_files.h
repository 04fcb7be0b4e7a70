#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::io {

/// The regular files of a folder and of those inside it, sorted.
struct FolderFiles {
  std::vector<std::filesystem::path> files;
  /// What could not be read, or not be followed: links in a circle, folders without permission, and
  /// links to folders, which may lead out of the data set or back into it. One for each, and one
  /// that counts the rest of many.
  std::vector<std::string> notes;
};

/// Throws Io, naming the folder, when it cannot be read itself.
FolderFiles files_in(const std::filesystem::path& folder);

/// Whether there is something at a path; what cannot be looked at is not there.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

}  // namespace sparsebit::io
