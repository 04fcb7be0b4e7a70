#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit {

/// The contents of a file in memory, read by the system when they are touched.
///
/// The memory may be written to; the file never changes by it. What is not a regular file (a pipe,
/// say) is read at once.
class MappedFile {
 public:
  /// Throws Io if the file is missing, a folder, or not readable.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  std::string contents_;  // of what cannot be mapped
  char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace sparsebit
