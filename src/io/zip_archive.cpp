#include "sparsebit/io/zip_archive.h"

#include "io/byte_count.h"

#include "sparsebit/core/deflate_bound.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace sparsebit::io {
namespace {

constexpr uint32_t kEntry = 0x02014b50, kLocal = 0x04034b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr uint64_t kInExtra = 0xffffffff;  // the value is in the extra field
constexpr uint16_t kLargeNumbers = 1;      // id of the zip64 extra field
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr size_t kEntrySize = 46, kLocalSize = 30, kEndSize = 22, kLocatorSize = 20;

/// In parts, because zlib counts each of them with 32 bits.
bool inflate_into(std::string_view packed, std::span<char> out) {
  constexpr size_t kPart = 1 << 20;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  int status = Z_OK;
  while (status == Z_OK) {  // without progress it is Z_BUF_ERROR
    stream.avail_in = static_cast<uInt>(std::min(kPart, packed.size() - stream.total_in));
    stream.avail_out = static_cast<uInt>(std::min(kPart, out.size() - stream.total_out));
    status = inflate(&stream, Z_NO_FLUSH);
  }
  const bool complete = status == Z_STREAM_END && stream.total_out == out.size();
  inflateEnd(&stream);
  return complete;
}

}  // namespace

ZipArchive::ZipArchive(std::string_view bytes, std::string file)
    : bytes_(bytes), file_(std::move(file)) {
  read_table();
}

void ZipArchive::check(bool condition) const {
  SPARSEBIT_CHECK(condition, InvalidArgument, file_, ": not a zip archive, or damaged");
}

template <class Number>
Number ZipArchive::number(uint64_t at) const {
  Number value;
  check(at <= bytes_.size() && sizeof(value) <= bytes_.size() - at);
  std::memcpy(&value, bytes_.data() + at, sizeof(value));  // zip is little endian, like the host
  return value;
}

/// The position of the central directory is in the end record, which is followed by a comment of at
/// most 65535 bytes.
void ZipArchive::read_table() {
  const size_t tail = bytes_.size() - std::min<size_t>(bytes_.size(), kEndSize + 65535);
  const size_t end = bytes_.rfind("PK\x05\x06");
  check(end != std::string_view::npos && end >= tail);
  check(end + kEndSize + number<uint16_t>(end + 20) <= bytes_.size());  // the comment
  uint64_t count = number<uint16_t>(end + 10), at = number<uint32_t>(end + 16);
  if (end >= kLocatorSize && number<uint32_t>(end - kLocatorSize) == kLocator64) {
    const auto end64 = number<uint64_t>(end - kLocatorSize + 8);
    check(number<uint32_t>(end64) == kEnd64);
    count = number<uint64_t>(end64 + 32);
    at = number<uint64_t>(end64 + 48);
  }
  check(count <= bytes_.size() / kEntrySize);
  uint64_t packed = 0;
  for (uint64_t i = 0; i < count; ++i) {
    records_.push_back(read_entry(at));
    index_.emplace(records_.back().name, i);
    packed += records_.back().packed;
    check(packed <= bytes_.size());
    at += kEntrySize + number<uint16_t>(at + 28) + number<uint16_t>(at + 30) +
          number<uint16_t>(at + 32);
  }
}

ZipArchive::Record ZipArchive::read_entry(uint64_t at) const {
  check(number<uint32_t>(at) == kEntry);
  const uint64_t name = number<uint16_t>(at + 28), extra = number<uint16_t>(at + 30);
  check(at + kEntrySize + name + extra <= bytes_.size());
  Record record{.name = std::string(bytes_.substr(at + kEntrySize, name)),
                .size = number<uint32_t>(at + 24),
                .packed = number<uint32_t>(at + 20),
                .header = number<uint32_t>(at + 42),
                .checksum = number<uint32_t>(at + 16),
                .method = number<uint16_t>(at + 10)};
  const uint64_t fields = at + kEntrySize + name;
  for (uint64_t pos = 0; pos + 4 <= extra; pos += 4 + number<uint16_t>(fields + pos + 2)) {
    if (number<uint16_t>(fields + pos) != kLargeNumbers) continue;
    uint64_t place = fields + pos + 4;
    for (uint64_t* value : {&record.size, &record.packed, &record.header}) {
      if (*value != kInExtra) continue;
      *value = number<uint64_t>(place);
      place += sizeof(uint64_t);
    }
  }
  check(record.packed <= bytes_.size());
  if (record.method == kStored) check(record.size == record.packed);
  check(record.size / kMostInflated <= record.packed + 1);
  return record;
}

const ZipArchive::Record* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &records_[found->second];
}

std::string_view ZipArchive::packed_bytes(const Record& record) const {
  check(number<uint32_t>(record.header) == kLocal);
  const uint64_t data = record.header + kLocalSize + number<uint16_t>(record.header + 26) +
                        number<uint16_t>(record.header + 28);
  check(data <= bytes_.size() && record.packed <= bytes_.size() - data);
  return bytes_.substr(data, record.packed);
}

std::string ZipArchive::read(const Record& record) const {
  check_memory(static_cast<int64_t>(std::min<uint64_t>(record.size, INT64_MAX)),
               file_ + ": record '" + record.name + "'");
  std::string result(record.size, '\0');
  read(record, result);
  return result;
}

void ZipArchive::read(const Record& record, std::span<char> out) const {
  SPARSEBIT_CHECK(record.method == kStored || record.method == kDeflated, Unsupported, file_,
                  ": record '", record.name, "' has unsupported compression method ",
                  record.method);
  const std::string_view packed = packed_bytes(record);
  check(out.size() == record.size);
  if (record.method == kStored)
    std::memcpy(out.data(), packed.data(), packed.size());
  else
    check(inflate_into(packed, out));
  const auto* const bytes = reinterpret_cast<const Bytef*>(out.data());
  SPARSEBIT_CHECK(::crc32_z(0, bytes, out.size()) == record.checksum, InvalidArgument, file_,
                  ": record '", record.name, "' is damaged: checksum mismatch");
}

}  // namespace sparsebit::io
