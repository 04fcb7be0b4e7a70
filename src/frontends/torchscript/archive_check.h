#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sparsebit::frontends::torchscript {

// libtorch trusts the files it loads: lengths in them decide how much memory it allocates, and a
// pickle can make it read beyond its stack. These functions check the bytes first. Each returns a
// description of the defect, or an empty string; anything that libtorch checks itself is left out.

/// Checksums (CRC-32) of an archive's records, by name without the archive's own folder.
using Checksums = std::map<std::string, uint32_t, std::less<>>;

/// Checks the zip archive's table of records: sizes that exceed the file.
/// @param checksums  receives the checksums in the table.
std::string zip_problem(std::string_view file, Checksums& checksums);

/// Checks that the bytes of a record match its checksum. libtorch does not check it, and its parser
/// cannot handle damaged code.
std::string checksum_problem(std::string_view name, std::string_view record,
                             const Checksums& checksums);

/// Checks a pickled record: strings longer than the record, inconsistent marks and stack, and
/// shared values that expand a small file to more values than a machine can read.
std::string pickle_problem(std::string_view record);

/// Checks a record of source code: statements nested too deeply for libtorch's parser.
std::string source_problem(std::string_view code);

/// A record of source code: a class or function that is not of the form torch writes. The nesting
/// has to be sound, and the stack large. Throws what libtorch's parser throws for what is no code
/// at all.
std::string definitions_problem(std::string_view code);

/// Upper bound of the recursion depth for compiling a record of source code: a function is compiled
/// inside the function that calls it, so the depths of all functions add up.
int64_t source_depth(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
