#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sparsebit::frontends::torchscript {

// libtorch trusts the files it loads: lengths in them decide how much memory it takes, and a pickle
// can make it read beyond its stack. What follows looks at the bytes first. Each function says what
// is wrong, or nothing; what libtorch checks itself is left to it.

/// Checksums (CRC-32) of an archive's records, by name without the archive's own folder.
using Checksums = std::map<std::string, uint32_t, std::less<>>;

/// The zip archive's table of records: sizes that the file does not have.
/// @param checksums  gets what the table says.
std::string zip_problem(std::string_view file, Checksums& checksums);

/// A record whose bytes are not those that were written. libtorch does not look, and its parser is
/// not made for damaged code.
std::string checksum_problem(std::string_view name, std::string_view record,
                             const Checksums& checksums);

/// A pickled record: texts longer than the record, marks and stack out of step, values that share
/// others so often that a small file has more of them than a machine can read.
std::string pickle_problem(std::string_view record);

/// A record of source code: a statement nested more deeply than anyone writes.
std::string source_problem(std::string_view code);

/// A record of source code: a class or function that is not of the form torch writes. The nesting
/// has to be sound, and the stack large. Throws what libtorch's parser throws for what is no code
/// at all.
std::string definitions_problem(std::string_view code);

/// How deeply compiling a record of source code nests at most: functions are compiled when the code
/// of others calls them, so what is in each of them adds up.
int64_t source_depth(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
