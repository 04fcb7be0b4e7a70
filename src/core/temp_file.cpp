#include "sparsebit/core/temp_file.h"

#include "sparsebit/core/error.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sparsebit {

TempFile::TempFile(const std::string& suffix) {
  const std::string ending = "XXXXXX" + suffix;  // mkstemps() replaces the X
  std::string name = std::filesystem::temp_directory_path() / ("sparsebit-" + ending);
  const int file = ::mkstemps(name.data(), static_cast<int>(suffix.size()));
  SPARSEBIT_CHECK(file >= 0, Io, "cannot create ", name, ": ", std::strerror(errno));
  ::close(file);
  path_ = name;
  removed_.emplace(path_);
}

TempFile::~TempFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace sparsebit
