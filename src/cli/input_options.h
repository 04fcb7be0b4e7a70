#pragma once

#include "cli/shape_text.h"
#include "sparsebit/fx/node.h"

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Types and shapes of inputs by name; "" is the only input.
using KnownShapes = std::map<std::string, fx::TensorInfo>;

/// Options with which a user gives a model's inputs or tells their shapes.
struct InputOptions {
  std::vector<std::string> files = {};   ///< NAME=file.npy, or file.npy for the only input
  std::vector<std::string> shapes = {};  ///< 1x3x224x224, NAME=1x3x224x224 or NAME=1x16:int64
  bool random = false;                   ///< fill inputs that are not given
};

/// Declares --shape.
void add_shape_option(CLI::App& command, std::vector<std::string>& shapes);
/// Declares --input for examples; what is not given is random.
void add_example_option(CLI::App& command, InputOptions& options);
/// Declares --input and --random as well.
void add_input_options(CLI::App& command, InputOptions& options);

/// What each --shape says. Throws UsageError for one that does not parse or speaks of an input
/// again.
std::vector<GivenShape> given_shapes(const InputOptions& options);
/// Names of inputs that the options speak of, as far as they have one; for ModelOptions. Throws
/// UsageError for one that is given twice.
std::vector<std::string> named_inputs(const InputOptions& options);
/// Types and shapes that the options and the files they name tell; for ModelOptions.
KnownShapes known_shapes(const InputOptions& options);

}  // namespace sparsebit::cli
