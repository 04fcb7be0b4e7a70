#pragma once

#include "core/descriptor.h"
#include "core/temporary_names.h"
#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace sparsebit {

// What AtomicFile and OutputSet share.

/// An error that names the target of a staged file.
inline Error io_error(const std::filesystem::path& path, const std::string& failure,
                      int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  return {ErrorKind::Io,
          {.what = failure + ": " + reason, .where = without_temporary_folders(path.string())}};
}

inline std::filesystem::path folder_of(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

/// Renaming over a device would destroy it, `-o /dev/null` run by root for instance.
inline void check_target(const std::filesystem::path& target) {
  struct stat info {};
  if (::stat(target.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == EACCES || errno == ENOTDIR)
      return;  // creating the file gives a better error
    throw io_error(target, "cannot write", errno);
  }
  if (S_ISDIR(info.st_mode)) throw io_error(target, "cannot write", EISDIR);
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::Io,
                {.what = "cannot write: not a regular file", .where = target.string()});
  }
}

/// Makes renames in the folder durable. Not all file systems support it, and the files are complete
/// either way.
inline void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) ::fsync(descriptor.get());
}

}  // namespace sparsebit
