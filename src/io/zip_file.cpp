#include "io/zip_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <zlib.h>

#include <cstring>

namespace sparsebit::io {
namespace {

constexpr uint32_t kEntry = 0x02014b50, kLocal = 0x04034b50, kEnd = 0x06054b50;
constexpr uint64_t kInExtra = 0xffffffff;  // the number stands in the extra field
constexpr uint16_t kLargeNumbers = 1;      // id of that extra field
constexpr size_t kEntrySize = 46, kLocalSize = 30, kEndSize = 22;
/// Deflate packs at most about 1030 to 1.
constexpr uint64_t kMostUnpacked = 1100;

class ZipReader {
 public:
  explicit ZipReader(const std::filesystem::path& file) : file_(file.string()), mapped_(file) {}

  std::vector<std::pair<std::string, std::string>> read() {
    const size_t end = find_end();
    const auto count = number<uint16_t>(end + 10);
    size_t at = number<uint32_t>(end + 16);
    std::vector<std::pair<std::string, std::string>> files;
    for (uint16_t i = 0; i < count; ++i) {
      check(number<uint32_t>(at) == kEntry);
      const size_t name = number<uint16_t>(at + 28), extra = number<uint16_t>(at + 30);
      files.emplace_back(text(at + kEntrySize, name), unpack(at, name, extra));
      at += kEntrySize + name + extra + number<uint16_t>(at + 32);
    }
    return files;
  }

 private:
  void check(bool condition) const {
    SPARSEBIT_CHECK(condition, InvalidArgument, file_,
                    ": this is no zip archive, or it is damaged");
  }

  std::string text(size_t at, size_t size) const {
    check(at <= mapped_.size() && size <= mapped_.size() - at);
    return std::string(mapped_.bytes().substr(at, size));
  }

  template <class Number>
  Number number(size_t at) const {
    Number value;
    check(at <= mapped_.size() && sizeof(value) <= mapped_.size() - at);
    std::memcpy(&value, mapped_.bytes().data() + at, sizeof(value));  // little endian, as we are
    return value;
  }

  /// At the end, before a comment of at most 65535 bytes.
  size_t find_end() const {
    check(mapped_.size() >= kEndSize);
    const size_t last = mapped_.size() - kEndSize;
    for (size_t back = 0; back <= std::min<size_t>(last, 65535); ++back) {
      if (number<uint32_t>(last - back) == kEnd) return last - back;
    }
    check(false);
    return 0;
  }

  /// numpy writes sizes of large files, and of all that it does not know before, in an extra field.
  uint64_t size_in_extra(size_t at, size_t extra, int which) const {
    for (size_t pos = 0; pos + 4 <= extra;) {
      const auto id = number<uint16_t>(at + pos);
      if (id == kLargeNumbers)
        return number<uint64_t>(at + pos + 4 + 8 * static_cast<size_t>(which));
      pos += 4 + number<uint16_t>(at + pos + 2);
    }
    check(false);
    return 0;
  }

  std::string unpack(size_t entry, size_t name, size_t extra) const {
    const auto method = number<uint16_t>(entry + 10);
    uint64_t packed = number<uint32_t>(entry + 20), size = number<uint32_t>(entry + 24);
    const size_t fields = entry + kEntrySize + name;
    if (packed == kInExtra) packed = size_in_extra(fields, extra, size == kInExtra ? 1 : 0);
    if (size == kInExtra) size = size_in_extra(fields, extra, 0);
    const size_t local = number<uint32_t>(entry + 42);
    check(number<uint32_t>(local) == kLocal);
    const size_t data =
        local + kLocalSize + number<uint16_t>(local + 26) + number<uint16_t>(local + 28);
    check(data <= mapped_.size() && packed <= mapped_.size() - data);
    const std::string bytes = text(data, packed);
    SPARSEBIT_CHECK(method == 0 || method == 8, Unsupported, file_,
                    ": a file in this archive is packed in a way that is not understood (", method,
                    ")");
    if (method == 0) {
      check(size == packed);
      return bytes;
    }
    check(size <= kMostUnpacked * (packed + 1) && size <= UINT32_MAX);
    return inflated(bytes, size);
  }

  std::string inflated(const std::string& bytes, uint64_t size) const {
    std::string result(size, '\0');
    z_stream stream{};
    check(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    const int status = inflate(&stream, Z_FINISH);
    const bool complete = status == Z_STREAM_END && stream.total_out == size;
    inflateEnd(&stream);
    check(complete);
    return result;
  }

  std::string file_;
  MappedFile mapped_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> read_zip(const std::filesystem::path& file) {
  return ZipReader(file).read();
}

}  // namespace sparsebit::io
