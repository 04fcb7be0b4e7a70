#pragma once

#include "sparsebit/core/progress.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options of (nearly) every subcommand.
struct CommonOptions {
  int threads = 0;  ///< 0 = libtorch's default
  uint64_t seed = 0;
  bool quiet = false;
  std::string max_memory = {};  ///< "8GB"; empty: SPARSEBIT_MAX_MEMORY, or what the machine has
};

/// A check that an option's value is not empty; CLI11 accepts empty values.
std::string not_empty(const std::string& text);

/// A check that an option's value is a whole number in a range.
std::function<std::string(const std::string&)> whole_number_from(int64_t least, int64_t most);

/// Help of --external-data.
inline constexpr const char* kExternalDataHelp =
    "Store weights in FILE.onnx.data. Default: only for models above 2 GB";

void add_common_options(CLI::App& command, CommonOptions& options);
/// Declares --skip, see ModelOptions.
void add_skip_option(CLI::App& command, std::vector<std::string>& patterns);
/// Progress options of a command: no progress bar with --quiet or --json.
ProgressOptions shown_progress(const CommonOptions& options, bool json);
/// Applies threads, memory limit and log level; call it first in a subcommand.
void apply(const CommonOptions& options);

}  // namespace sparsebit::cli
