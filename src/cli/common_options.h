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

/// Options every subcommand has.
struct CommonOptions {
  int threads = 0;  ///< 0 = as many as libtorch chooses
  uint64_t seed = 0;
  bool quiet = false;
  std::string max_memory = {};  ///< "8GB"; empty: SPARSEBIT_MAX_MEMORY, or what the machine has
};

/// A check for options that name something: CLI11 itself takes an empty text.
std::string not_empty(const std::string& text);

/// A check for options that are whole numbers of a range.
std::function<std::string(const std::string&)> whole_number_from(int64_t least, int64_t most);

/// Help of --external-data.
inline constexpr const char* kExternalDataHelp =
    "Write weights to FILE.onnx.data beside the model, as above 2 GB, where ONNX asks for it";

void add_common_options(CLI::App& command, CommonOptions& options);
/// Declares --skip, see ModelOptions.
void add_skip_option(CLI::App& command, std::vector<std::string>& patterns);
/// Progress for people: none when they asked for quiet, or for JSON.
ProgressOptions shown_progress(const CommonOptions& options, bool json);
/// Applies threads, memory limit and log level; call it first in a subcommand.
void apply(const CommonOptions& options);

}  // namespace sparsebit::cli
