#pragma once

#include "core/descriptor.h"
#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace sparsebit {

// What AtomicFile and OutputSet share.

inline Error io_error(const std::filesystem::path& path, const std::string& failure,
                      int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::Io, {.what = failure + ": " + reason, .where = path.string()}};
}

inline std::filesystem::path folder_of(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

/// Makes renames in the folder durable. Not all file systems support it, and the files are complete
/// either way.
inline void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) ::fsync(descriptor.get());
}

}  // namespace sparsebit
