#include "sparsebit/core/mapped_file.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sparsebit {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
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
  SPARSEBIT_CHECK(!endless, Io, path.string(),
                  ": not a regular file (a pipe or device, say); save it to a file first");
  if (mapped_) return;
  contents_ = read_file(path);  // throws if the file could not be opened, with the reason
  data_ = contents_.data();
  size_ = contents_.size();
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(data_, size_);
}

}  // namespace sparsebit
