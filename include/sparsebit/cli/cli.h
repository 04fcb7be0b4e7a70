#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// The `sparsebit` command. Never throws. Exit code: 0 success, 1 failure, 2 bad usage.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

/// "inspect", "run", ...
std::vector<std::string> command_names();

/// Scripts that let bash and zsh complete commands, options and values.
std::string bash_completion();
std::string zsh_completion();

/// sparsebit(1), for groff.
std::string manual_page();

}  // namespace sparsebit::cli
