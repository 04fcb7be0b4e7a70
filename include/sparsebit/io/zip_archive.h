#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// A zip archive in memory, such as numpy's .npz and torch's .pt2, also one above 4 GB.
///
/// The archive is not trusted: nothing is read beyond its end, no two records share bytes, so all
/// of them together unpack to a size in proportion to the archive's, and a record has the length
/// and the checksum it states. Errors name the archive: InvalidArgument when it is not well formed,
/// Unsupported for other ways to pack than none and deflate. Names of records are only names: no
/// file is ever written.
class ZipArchive {
 public:
  struct Record {
    std::string name;
    uint64_t size = 0;      ///< unpacked
    uint64_t packed = 0;    ///< in the archive
    uint64_t header = 0;    ///< where the record's own header starts
    uint32_t checksum = 0;  ///< CRC-32 of what is unpacked
    uint16_t method = 0;    ///< 0: stored, 8: deflate
  };

  /// @param bytes  of the whole archive, which outlive this object.
  /// @param file   what errors call it.
  ZipArchive(std::string_view bytes, std::string file);

  /// In the order of the archive's table.
  const std::vector<Record>& records() const { return records_; }
  /// Null when there is none of this name.
  const Record* find(std::string_view name) const;

  std::string read(const Record& record) const;
  /// @param out  has record.size bytes.
  void read(const Record& record, std::span<char> out) const;

 private:
  void check(bool condition) const;
  template <class Number>
  Number number(uint64_t at) const;
  void read_table();
  Record read_entry(uint64_t at) const;
  std::string_view packed_bytes(const Record& record) const;

  std::string_view bytes_;
  std::string file_;
  std::vector<Record> records_;
  std::map<std::string, size_t, std::less<>> index_;  // of records_, by name; the first counts
};

}  // namespace sparsebit::io
