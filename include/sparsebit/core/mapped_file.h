#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit {

/// Installs a handler for SIGBUS, which reading a mapped file causes when another program has made
/// the file shorter in the meantime: it writes an error that names the file, removes unfinished
/// files and ends the process with exit code 1. SIGBUS for other reasons ends the process as by
/// default. For main() of a program; a library should not change signal handlers.
void report_shrunk_files();

/// The contents of a regular file, mapped into memory: pages are loaded on first access.
///
/// The mapping is private: writing to the memory never changes the file. A file that cannot be
/// mapped is read into memory. A mapped file that becomes shorter causes SIGBUS when it is read,
/// which ends the process unless the program handles it: see report_shrunk_files().
class MappedFile {
 public:
  /// Throws Io if the file is missing, a folder, not a regular file (a pipe, say), or not readable.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  struct Slot;
  static Slot* reserve();
  static void on_bus_error(int number, siginfo_t* info, void* context);
  friend void report_shrunk_files();

  std::string contents_;  // when the file cannot be mapped
  char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  Slot* slot_ = nullptr;  // what the handler knows; null when all slots are in use
};

}  // namespace sparsebit
