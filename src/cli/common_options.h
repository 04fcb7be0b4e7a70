#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options every subcommand has.
struct CommonOptions {
  int threads = 0;  ///< 0 = as many as libtorch chooses
  uint64_t seed = 0;
  bool quiet = false;
};

/// A check for options that name something: CLI11 itself takes an empty text.
std::string not_empty(const std::string& text);

void add_common_options(CLI::App& command, CommonOptions& options);
/// Declares --skip, see ModelOptions.
void add_skip_option(CLI::App& command, std::vector<std::string>& patterns);
/// Applies threads and log level; call it first in a subcommand.
void apply(const CommonOptions& options);

}  // namespace sparsebit::cli
