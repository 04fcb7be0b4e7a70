#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// The `sparsebit` command. Never throws. Exit code: 0 success, 1 failure, 2 bad usage.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

/// "inspect", "run", ...
std::vector<std::string> command_names();

}  // namespace sparsebit::cli
