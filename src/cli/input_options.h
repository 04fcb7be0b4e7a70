#pragma once

#include "cli/easy_names.h"
#include "easy/given_inputs.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Declares --shape.
void add_shape_option(CLI::App& command, std::vector<std::string>& shapes);
/// Declares --input for example inputs; inputs that are not given are random.
void add_example_option(CLI::App& command, InputOptions& options);
/// Declares --input, --random and --shape.
void add_input_options(CLI::App& command, InputOptions& options);

}  // namespace sparsebit::cli
