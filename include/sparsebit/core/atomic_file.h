#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace sparsebit {

/// A file that appears complete or not at all.
///
/// The file has no name until commit(), which then renames it over the target: nothing
/// is left behind even when the process is killed. (Where the file system knows no unnamed files,
/// it is called .sparsebit-*.tmp meanwhile, and removed by the next process that writes to the
/// folder.) Without commit(), for instance when an exception passes, the target stays as it was. A
/// replaced file keeps its access mode, a new one follows the umask. A symbolic link as target is
/// replaced, not followed.
///
///     AtomicFile file("model.json");
///     file.stream() << text;
///     file.commit();
class AtomicFile {
 public:
  /// Throws Io if the folder is missing or not writable, or if the target is a folder or a device.
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// The stream to write to, valid as long as this object. Write errors are reported by commit().
  std::ostream& stream();

  /// Makes the file durable and visible. Throws Io if any write failed (the disk is full, say), and
  /// Internal if called twice.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Replaces the contents of `path` by `bytes`, all or nothing. Throws Io.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The contents of the file. Throws Io if it is missing, a folder, or not readable, and TooLarge if
/// the memory limit has no room for them.
std::string read_file(const std::filesystem::path& path);

}  // namespace sparsebit
