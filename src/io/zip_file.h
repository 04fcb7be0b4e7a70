#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::io {

/// The files of a zip archive as numpy.savez and savez_compressed write it, by name, in order. The
/// file is not trusted: nothing is read beyond its end, and what is unpacked has to be as long as
/// it says. Throws Io when it cannot be read, InvalidArgument, naming it, when it is not well
/// formed, Unsupported for other ways to pack than none and deflate.
std::vector<std::pair<std::string, std::string>> read_zip(const std::filesystem::path& file);

}  // namespace sparsebit::io
