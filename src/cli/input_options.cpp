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

/// The name, empty when there is none, and the file of `NAME=FILE` or `FILE`.
std::pair<std::string, std::string> split_name(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// What is wrong with an --input, whatever the model is; empty = nothing.
std::string problem_of(const std::string& text) {
  if (text.starts_with('=')) return "'" + text + "' names no input";
  return split_name(text).second.empty() ? "'" + text + "' names no file" : "";
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
                  what + ": NAME=FILE.npy, or FILE.npy if there is only one (repeatable)")
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
      .add_option("--shape", shapes,
                  "Shape of an input the file leaves open: 1x3x224x224 if there is one, or "
                  "NAME=1x3x224x224, with a type if it is not float32: NAME=1x16:int64 "
                  "(repeatable)")
      ->allow_extra_args(false);
}

void add_example_option(CLI::App& command, InputOptions& options) {
  add_files_option(command, options,
                   "An example of an input, for models that cannot run on made-up numbers");
  options.random = true;
}

void add_input_options(CLI::App& command, InputOptions& options) {
  add_files_option(command, options, "An input");
  command.add_flag("--random", options.random, "Random numbers for inputs that are not given");
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
      continue;  // is reported where the input is made, which knows more about it
    }
  }
  return known;
}

}  // namespace sparsebit::cli
