#pragma once

#include "cli/easy_names.h"
#include "easy/prepared_data.h"

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// A check for options that take a preset or a YAML file: near presets where it is neither.
std::string known_preprocess(const std::string& preset_or_file);

/// Declares the options of commands that read data.
void add_data_options(CLI::App& command, DataOptions& options);

}  // namespace sparsebit::cli
