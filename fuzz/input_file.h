#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace sparsebit::fuzz {

/// A file in memory with the fuzzer's bytes, for readers that take a path.
class InputFile {
 public:
  InputFile(const uint8_t* data, size_t size) : descriptor_(::memfd_create("input", 0)) {
    if (descriptor_ < 0) std::abort();
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, data, size);
      if (written <= 0) std::abort();
      data += written;
      size -= static_cast<size_t>(written);
    }
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace sparsebit::fuzz
