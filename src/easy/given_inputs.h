#pragma once

#include "easy/shape_text.h"
#include "sparsebit/fx/node.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::easy {

/// Types and shapes of inputs by name; "" stands for the only input.
using KnownShapes = std::map<std::string, fx::TensorInfo>;

/// Options with a model's inputs or their shapes.
struct InputOptions {
  std::vector<std::string> files = {};   ///< NAME=file.npy, or file.npy for the only input
  std::vector<std::string> shapes = {};  ///< 1x3x224x224, NAME=1x3x224x224 or NAME=1x16:int64
  bool random = false;                   ///< random numbers for inputs that are not given
};

/// Splits `NAME=FILE` or `FILE` into name (empty if there is none) and file.
std::pair<std::string, std::string> split_name(const std::string& text);

/// Parses each --shape. Throws UsageError for a syntax error, or two shapes of the same input.
std::vector<GivenShape> given_shapes(const InputOptions& options);
/// Names of inputs in --input and --shape, where given; for ModelOptions. Throws UsageError for a
/// name that is given twice.
std::vector<std::string> named_inputs(const InputOptions& options);
/// Types and shapes from --shape and from the files of --input; for ModelOptions.
KnownShapes known_shapes(const InputOptions& options);

}  // namespace sparsebit::easy
