#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// A zip or zip64 archive in memory, such as NumPy's .npz and torch's .pt2.
///
/// The archive is not trusted: reads are bounds-checked, records cannot share bytes, so that the
/// total unpacked size stays in proportion to the archive's, and the length and checksum of records
/// are verified. Errors name the archive: InvalidArgument when it is not well formed, Unsupported
/// for compression methods other than stored and deflate. No file is ever written.
class ZipArchive {
 public:
  struct Record {
    std::string name;
    uint64_t size = 0;      ///< unpacked
    uint64_t packed = 0;    ///< in the archive
    uint64_t header = 0;    ///< offset of the local header
    uint32_t checksum = 0;  ///< CRC-32 of the unpacked bytes
    uint16_t method = 0;    ///< 0: stored, 8: deflate
  };

  /// @param bytes  the whole archive; must outlive this object.
  /// @param file   name of the archive in errors.
  ZipArchive(std::string_view bytes, std::string file);

  /// In the order of the central directory.
  const std::vector<Record>& records() const { return records_; }
  /// Null when there is no record of this name.
  const Record* find(std::string_view name) const;

  std::string read(const Record& record) const;
  /// @param out  must have record.size bytes.
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
  std::map<std::string, size_t, std::less<>>
      index_;  // name -> index in records_; the first of equal names
};

}  // namespace sparsebit::io
