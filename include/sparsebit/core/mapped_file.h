#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit {

/// The contents of a regular file, mapped into memory: pages are loaded on first access.
///
/// The mapping is private: writing to the memory never changes the file. A file that cannot be
/// mapped is read into memory.
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
  std::string contents_;  // when the file cannot be mapped
  char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace sparsebit
