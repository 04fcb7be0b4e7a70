#include "sparsebit/core/atomic_file.h"

#include "core/descriptor.h"
#include "core/output_folder.h"
#include "core/temporary_names.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/interrupt.h"
#include "sparsebit/core/memory_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <streambuf>
#include <system_error>

namespace sparsebit {
namespace {

namespace fs = std::filesystem;

// A stream buffer on a descriptor. Unlike std::filebuf it remembers why a write failed, and its
// descriptor can be synced.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int fd) : fd_(fd) { setp(buffer_.data(), buffer_.data() + kSize); }

  int error_number() const { return error_number_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  int sync() override {
    const bool written = write_all(pbase(), static_cast<size_t>(pptr() - pbase()));
    setp(buffer_.data(), buffer_.data() + kSize);
    return written ? 0 : -1;
  }

  std::streamsize xsputn(const char* bytes, std::streamsize n) override {
    if (n <= epptr() - pptr()) return std::streambuf::xsputn(bytes, n);
    // Large blocks, such as tensors, are not copied through the buffer.
    return sync() == 0 && write_all(bytes, static_cast<size_t>(n)) ? n : 0;
  }

 private:
  bool write_all(const char* bytes, size_t n) {
    while (n > 0 && error_number_ == 0) {
      const ssize_t written = ::write(fd_, bytes, n);
      if (written < 0) {
        if (errno != EINTR) error_number_ = errno;
        continue;
      }
      bytes += written;
      n -= static_cast<size_t>(written);
    }
    return error_number_ == 0;
  }

  static constexpr std::ptrdiff_t kSize = 1 << 16;
  int fd_;
  int error_number_ = 0;
  std::array<char, kSize> buffer_;
};

/// A file without a name in the folder of `target`: it vanishes when the process is killed. Closed
/// where the file system has no such files, or where /proc is missing, through which it gets its
/// name.
Descriptor create_unnamed(const fs::path& target) {
  if (::access("/proc/self/fd", X_OK) != 0) return {};
  return Descriptor(::open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
}

/// Creates a new file beside `target` and stores its name. Not mkstemp: that ignores the umask.
Descriptor create_named(const fs::path& target, fs::path& created) {
  constexpr int kAttempts = 100;
  struct stat old {};  // others may not read what replaces a private file at any time
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 0777 : 0666;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    created = folder_of(target) / temporary_name();
    Descriptor file(::open(created.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.is_open()) return file;
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int error_number = errno;
  const std::string folder = folder_of(target).string();
  throw io_error(target, "cannot create a file in '" + folder + "'", error_number);
}

/// A replaced file keeps its access mode.
void copy_mode(const fs::path& target, int descriptor) {
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0) ::fchmod(descriptor, old.st_mode & 07777);
}

}  // namespace

struct AtomicFile::Impl {
  explicit Impl(fs::path path)
      : target(std::move(path)), descriptor(create()), buffer(descriptor.get()), stream(&buffer) {
    lock_temporary(descriptor.get());
    copy_mode(target, descriptor.get());
  }

  ~Impl() {
    if (!temporary.empty() && !committed) ::unlink(temporary.c_str());
  }

  Descriptor create() {
    remove_abandoned_temporaries(folder_of(target));
    Descriptor unnamed = create_unnamed(target);
    if (unnamed.is_open()) return unnamed;
    Descriptor named = create_named(target, temporary);
    removed.emplace(temporary);
    return named;
  }

  /// Brings everything to the disk.
  void write_out() {
    stream.flush();
    if (buffer.error_number() != 0) throw io_error(target, "cannot write", buffer.error_number());
    if (!stream) {  // the writer set failbit or badbit
      throw Error(ErrorKind::Io,
                  {.what = "cannot write: the stream has failed", .where = target.string()});
    }
    if (::fsync(descriptor.get()) != 0) throw io_error(target, "cannot write", errno);
  }

  /// Gives an unnamed file a temporary name, from which it can replace another one.
  void name_it() {
    if (!temporary.empty()) return;
    const fs::path name = folder_of(target) / temporary_name();
    removed.emplace(name);
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor.get());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      throw io_error(target, "cannot write", errno);
    temporary = name;
  }

  fs::path target;
  fs::path temporary;  // empty while the file has no name
  std::optional<RemoveOnInterrupt> removed;
  Descriptor descriptor;
  DescriptorBuffer buffer;
  std::ostream stream;
  bool committed = false;
};

AtomicFile::AtomicFile(fs::path target) {
  check_target(target);
  impl_ = std::make_unique<Impl>(std::move(target));
}

AtomicFile::~AtomicFile() = default;

std::ostream& AtomicFile::stream() { return impl_->stream; }

void AtomicFile::commit() {
  Impl& file = *impl_;
  SPARSEBIT_CHECK(!file.committed, Internal, file.target.string(), ": committed twice");
  file.write_out();
  file.name_it();
  if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) {
    throw io_error(file.target, "cannot replace", errno);
  }
  file.committed = true;
  file.removed.reset();
  sync_folder(folder_of(file.target));
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.commit();
}

std::string read_file(const fs::path& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!descriptor.is_open() || ::fstat(descriptor.get(), &info) != 0) {
    throw io_error(path, "cannot read", errno);
  }
  std::string contents;
  // The size is only a hint: pipes have none, and a file may grow. One byte more to detect the end.
  size_t capacity = S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : 1 << 16;
  size_t size = 0;
  while (true) {
    if (size == contents.size()) {
      if (size > 0) capacity = 2 * size;
      check_memory(static_cast<int64_t>(capacity), path.string());
      contents.resize(capacity);
    }
    const ssize_t n = ::read(descriptor.get(), contents.data() + size, contents.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error(path, "cannot read", errno);  // a folder: EISDIR
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  contents.resize(size);
  return contents;
}

}  // namespace sparsebit
