#include "sparsebit/io/idx_file.h"

#include "io/byte_count.h"
#include "sparsebit/core/deflate_bound.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace sparsebit::io {
namespace {

constexpr int kUnsignedByte = 0x08, kMostAxes = 8;
constexpr int64_t kBlock = 1 << 20;

/// Reads plain and gzip-compressed files sequentially.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : name_(path.string()), file_(gzopen(path.c_str(), "rb"), gzclose) {
    SPARSEBIT_CHECK(file_, Io, name_, ": cannot read: ", std::strerror(errno));
  }

  void read(void* to, int64_t size) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(size));
    if (got == size) return;
    int problem = Z_OK;
    const char* text = gzerror(file_.get(), &problem);
    const bool damaged = problem == Z_DATA_ERROR || problem == Z_STREAM_ERROR;
    throw Error(ErrorKind::InvalidArgument,
                name_ + (damaged ? ": the compressed data is damaged: " + std::string(text)
                                 : ": truncated file"));
  }

  int64_t big_endian_number() {
    std::array<uint8_t, 4> bytes{};
    read(bytes.data(), 4);
    return (int64_t{bytes[0]} << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
  }

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::vector<int64_t> read_shape(Reader& reader) {
  const int64_t magic = reader.big_endian_number();
  const int64_t axes = magic & 0xFF;
  SPARSEBIT_CHECK(magic >> 8 == kUnsignedByte && axes >= 1 && axes <= kMostAxes, InvalidArgument,
                  reader.name(), ": not an idx file of unsigned bytes");
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < axes; ++i) shape.push_back(reader.big_endian_number());
  return shape;
}

}  // namespace

at::Tensor load_idx(const std::filesystem::path& path) {
  Reader reader(path);
  const std::vector<int64_t> shape = read_shape(reader);
  const std::optional<int64_t> bytes = byte_count(shape, 1);
  SPARSEBIT_CHECK(bytes, InvalidArgument, reader.name(), ": its size overflows 64 bits");
  const int64_t size = *bytes;
  // A header that asks for more than the file can hold is damaged.
  SPARSEBIT_CHECK(static_cast<uint64_t>(size) / kMostInflated <= std::filesystem::file_size(path),
                  InvalidArgument, reader.name(), ": truncated file");
  check_memory(size, reader.name());
  // The buffer grows with the data read: a header alone must not allocate memory.
  at::Tensor data = at::empty({0}, at::kByte);
  while (data.numel() < size) {
    const int64_t have = data.numel();
    const int64_t part = std::min({size - have, std::max(kBlock, have), int64_t{1} << 30});
    data.resize_({have + part});
    reader.read(static_cast<uint8_t*>(data.data_ptr()) + have, part);
  }
  return data.reshape(shape);
}

}  // namespace sparsebit::io
