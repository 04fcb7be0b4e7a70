#pragma once

#include "cli/easy_names.h"
#include "easy/common_options.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

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
/// Applies threads, memory limit and log level; call it first in a subcommand.
void apply(const CommonOptions& options);

}  // namespace sparsebit::cli
