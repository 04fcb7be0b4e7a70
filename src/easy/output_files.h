#pragma once

#include <string>
#include <vector>

namespace sparsebit::easy {

/// Checks output files before the slow work starts: throws InvalidArgument when an output is an
/// input or another output, and Io when it cannot be written. Empty names are ignored.
void check_output_files(const std::vector<std::string>& written,
                        const std::vector<std::string>& read);

/// Throws InvalidArgument when the folder is a file, and Io when it cannot be created or written
/// to.
void check_output_folder(const std::string& folder);

}  // namespace sparsebit::easy
