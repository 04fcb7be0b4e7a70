#include "sparsebit/core/mapped_file.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sparsebit {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Not to wait for somebody who writes to a pipe.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  const bool regular = descriptor >= 0 && ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    void* const memory = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE, descriptor, 0);
    if (memory != MAP_FAILED) {
      data_ = static_cast<char*>(memory);
      size_ = static_cast<size_t>(info.st_size);
      mapped_ = true;
    }
  }
  const bool endless = descriptor >= 0 && !regular && !S_ISDIR(info.st_mode);
  if (descriptor >= 0) ::close(descriptor);
  SPARSEBIT_CHECK(!endless, Io, path.string(), ": not a regular file; save it as one first");
  if (mapped_) return;
  contents_ = read_file(path);  // also says what is wrong with a file that cannot be opened
  data_ = contents_.data();
  size_ = contents_.size();
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(data_, size_);
}

}  // namespace sparsebit
