#pragma once

#include <string>
#include <vector>

namespace sparsebit::cli {

/// Before anybody waits: throws InvalidArgument when a file that will be written is one that is
/// read or another one that is written, and Io when it cannot be written. Empty names are none.
void check_output_files(const std::vector<std::string>& written,
                        const std::vector<std::string>& read);

/// Throws InvalidArgument when the folder is a file, and Io when it cannot be made or written to.
void check_output_folder(const std::string& folder);

}  // namespace sparsebit::cli
