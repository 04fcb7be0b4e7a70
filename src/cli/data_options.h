#pragma once

#include "cli/easy_names.h"
#include "easy/prepared_data.h"

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Declares the options of commands that read data.
void add_data_options(CLI::App& command, DataOptions& options);

}  // namespace sparsebit::cli
