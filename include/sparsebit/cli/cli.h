#pragma once

#include <iosfwd>

namespace sparsebit::cli {

/// The `sparsebit` command. Never throws. Exit code: 0 success, 1 failure, 2 bad usage.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace sparsebit::cli
