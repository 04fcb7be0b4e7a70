#pragma once

#include "sparsebit/cli/cli.h"

#include <sstream>
#include <string>
#include <vector>

namespace sparsebit::cli::test {

struct Result {
  int code;
  std::string out, err;
};

/// Runs `sparsebit ARGS...` in this process.
inline Result run_command(std::vector<const char*> args) {
  args.insert(args.begin(), "sparsebit");
  std::ostringstream out, err;
  const int code = run(static_cast<int>(args.size()), args.data(), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace sparsebit::cli::test
