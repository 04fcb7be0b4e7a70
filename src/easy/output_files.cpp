#include "easy/output_files.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <filesystem>

namespace sparsebit::easy {

void check_output_files(const std::vector<std::string>& written,
                        const std::vector<std::string>& read) {
  namespace fs = std::filesystem;
  std::error_code none;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].empty()) continue;
    for (const std::string& input : read) {
      SPARSEBIT_CHECK(input.empty() || !fs::equivalent(written[i], input, none), InvalidArgument,
                      written[i], ": an output cannot overwrite an input");
    }
    for (size_t k = 0; k < i; ++k) {
      SPARSEBIT_CHECK(written[k].empty() || fs::weakly_canonical(written[i], none) !=
                                                fs::weakly_canonical(written[k], none),
                      InvalidArgument, written[i], ": two outputs have the same path");
    }
    const AtomicFile can_be_written(written[i]);
  }
}

void check_output_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  SPARSEBIT_CHECK(!fs::exists(folder, failed) || fs::is_directory(folder, failed), InvalidArgument,
                  folder, ": expected a folder, found a file");
  fs::path there = fs::absolute(folder);  // the nearest parent that exists
  while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
  SPARSEBIT_CHECK(fs::is_directory(there, failed), Io, folder,
                  ": cannot create the folder: ", there.string(), " is a file");
  try {
    const AtomicFile can_be_written(there / ".sparsebit-can-be-written");
  } catch (const Error&) {
    throw Error(ErrorKind::Io, folder + ": cannot create files in this folder");
  }
}

}  // namespace sparsebit::easy
