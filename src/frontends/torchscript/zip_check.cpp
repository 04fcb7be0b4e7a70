#include "frontends/torchscript/archive_check.h"

#include "sparsebit/core/deflate_bound.h"

#include <c10/util/StringUtil.h>
#include <zlib.h>

#include <cstdint>
#include <optional>

namespace sparsebit::frontends::torchscript {
namespace {

constexpr std::string_view kEnd = "PK\x05\x06", kEntry = "PK\x01\x02", kEnd64 = "PK\x06\x06",
                           kLocator64 = "PK\x06\x07";
constexpr size_t kEndSize = 22, kEntrySize = 46, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint64_t kIn64 = 0xFFFFFFFF;  // the number is in the 64-bit extension

/// A little-endian number. The caller has checked that the bytes exist.
uint64_t number(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

/// The position of the table of records, from the record at the end of the file.
std::optional<Directory> find_directory(std::string_view file) {
  const size_t end = file.rfind(kEnd);
  if (end == std::string_view::npos || file.size() - end < kEndSize) return {};
  Directory found{.offset = number(file, end + 16, 4),
                  .size = number(file, end + 12, 4),
                  .entries = number(file, end + 10, 2)};
  if (end < kLocator64Size || !file.substr(end - kLocator64Size).starts_with(kLocator64)) {
    return found;
  }
  const uint64_t end64 = number(file, end - kLocator64Size + 8, 8);
  if (end64 > file.size() || file.size() - end64 < kEnd64Size ||
      !file.substr(end64).starts_with(kEnd64)) {
    return {};
  }
  return Directory{.offset = number(file, end64 + 48, 8),
                   .size = number(file, end64 + 40, 8),
                   .entries = number(file, end64 + 32, 8)};
}

struct Entry {
  uint64_t compressed = 0, size = 0;
  bool is_stored = false;
};

/// Replaces numbers that do not fit 32 bits by those of the entry's extension.
bool read_extension(std::string_view extra, Entry& entry) {
  while (extra.size() >= 4) {
    const size_t id = number(extra, 0, 2), length = number(extra, 2, 2);
    if (length > extra.size() - 4) return false;
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (uint64_t* value : {&entry.size, &entry.compressed}) {
      if (*value != kIn64) continue;
      if (field.size() < 8) return false;
      *value = number(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return true;
}

}  // namespace

std::string zip_problem(std::string_view file, Checksums& checksums) {
  const std::optional<Directory> directory = find_directory(file);
  if (!directory) return "its table of records is missing; is the file complete?";
  if (directory->offset > file.size() || directory->size > file.size() - directory->offset) {
    return "its table of records lies outside of the file; is the file complete?";
  }
  std::string_view rest = file.substr(directory->offset, directory->size);
  for (uint64_t i = 0; i < directory->entries; ++i) {
    if (rest.size() < kEntrySize || !rest.starts_with(kEntry)) {
      return "its table of records is damaged";
    }
    const size_t name = number(rest, 28, 2), extra = number(rest, 30, 2);
    const size_t whole = kEntrySize + name + extra + number(rest, 32, 2);
    if (whole > rest.size()) return "its table of records is damaged";
    Entry entry{.compressed = number(rest, 20, 4),
                .size = number(rest, 24, 4),
                .is_stored = number(rest, 10, 2) == 0};
    if (!read_extension(rest.substr(kEntrySize + name, extra), entry)) {
      return "its table of records is damaged";
    }
    const uint64_t most = entry.is_stored ? entry.compressed : kMostInflated * entry.compressed;
    if (entry.compressed > file.size() || entry.size > most) {
      return c10::str("a record of ", entry.size, " bytes is not in the file, which has ",
                      file.size());
    }
    const std::string_view path = rest.substr(kEntrySize, name);
    const size_t slash = path.find('/');  // npos + 1 is 0: a name without a folder
    checksums.emplace(path.substr(slash + 1), static_cast<uint32_t>(number(rest, 16, 4)));
    rest.remove_prefix(whole);
  }
  return {};
}

std::string checksum_problem(std::string_view name, std::string_view record,
                             const Checksums& checksums) {
  const auto stated = checksums.find(name);
  const auto* const bytes = reinterpret_cast<const Bytef*>(record.data());
  const bool same =
      stated != checksums.end() && ::crc32_z(0, bytes, record.size()) == stated->second;
  return same ? "" : "its checksum does not match";
}

}  // namespace sparsebit::frontends::torchscript
