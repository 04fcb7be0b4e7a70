#include "cli/input_options.h"

#include "cli/usage_error.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <set>
#include <utility>

namespace sparsebit::cli {

using fx::TensorInfo;

namespace {

/// Splits `NAME=FILE` or `FILE` into name (empty if there is none) and file.
std::pair<std::string, std::string> split_name(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The syntax error of an --input; empty if there is none.
std::string problem_of(const std::string& text) {
  if (text.starts_with('=')) return "'" + text + "' has no input name";
  return split_name(text).second.empty() ? "'" + text + "' has no file name" : "";
}

void check_names_differ(const std::vector<std::string>& files) {
  std::set<std::string> seen;
  for (const std::string& text : files) {
    const std::string name = split_name(text).first;
    if (!name.empty() && !seen.insert(name).second)
      throw UsageError("--input " + text + ": input '" + name + "' is given twice");
  }
}

void add_files_option(CLI::App& command, InputOptions& options, const std::string& what) {
  command
      .add_option("--input", options.files,
                  what + ": NAME=FILE.npy, or FILE.npy for a single input (repeatable)")
      ->allow_extra_args(false)
      ->check(problem_of);
}

}  // namespace

std::vector<GivenShape> given_shapes(const InputOptions& options) {
  std::vector<GivenShape> shapes;
  std::set<std::string> seen;
  for (const std::string& text : options.shapes) {
    shapes.push_back(parse_shape(text));
    if (!seen.insert(shapes.back().input).second)
      throw UsageError(
          "--shape " + text + ": the shape of " +
          (shapes.back().input.empty() ? "the input" : "'" + shapes.back().input + "'") +
          " is given twice");
  }
  return shapes;
}

void add_shape_option(CLI::App& command, std::vector<std::string>& shapes) {
  command
      .add_option(
          "--shape", shapes,
          "Shape of a dynamic input: 1x3x224x224, or NAME=1x3x224x224 if there are several; "
          "NAME=1x16:int64 if not float32 (repeatable)")
      ->allow_extra_args(false);
}

void add_example_option(CLI::App& command, InputOptions& options) {
  add_files_option(command, options, "Example input for models that cannot run on random numbers");
  options.random = true;
}

void add_input_options(CLI::App& command, InputOptions& options) {
  add_files_option(command, options, "Input");
  command.add_flag("--random", options.random,
                   "Fill inputs that are not given with random numbers");
  add_shape_option(command, options.shapes);
}

std::vector<std::string> named_inputs(const InputOptions& options) {
  check_names_differ(options.files);
  std::vector<std::string> names;
  for (const std::string& text : options.files) {
    if (const auto given = split_name(text); !given.first.empty()) names.push_back(given.first);
  }
  for (const GivenShape& shape : given_shapes(options)) {
    if (!shape.input.empty()) names.push_back(shape.input);
  }
  return names;
}

KnownShapes known_shapes(const InputOptions& options) {
  KnownShapes known;
  for (const GivenShape& shape : given_shapes(options))
    known.emplace(shape.input, TensorInfo{shape.shape, shape.dtype.value_or(at::kFloat)});
  for (const std::string& text : options.files) {
    const auto [name, file] = split_name(text);
    try {
      const at::Tensor tensor = io::load_npy(file);
      known.insert_or_assign(name, TensorInfo{tensor.sizes().vec(), tensor.scalar_type()});
    } catch (const Error&) {
      continue;  // make_inputs() reports it, with the name of the input
    }
  }
  return known;
}

}  // namespace sparsebit::cli
