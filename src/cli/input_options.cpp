#include "cli/input_options.h"

#include "cli/option_values.h"

#include <CLI/CLI.hpp>

namespace sparsebit::cli {
namespace {

/// The syntax error of an --input; empty if there is none.
std::string problem_of(const std::string& text) {
  if (text.starts_with('=')) return "'" + text + "' has no input name";
  return split_name(text).second.empty() ? "'" + text + "' has no file name" : "";
}

void add_files_option(CLI::App& command, InputOptions& options, const std::string& what) {
  command
      .add_option("--input", options.files,
                  what + ": NAME=FILE.npy, or FILE.npy for a single input (repeatable)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false)
      ->check(problem_of);
}

}  // namespace

void add_shape_option(CLI::App& command, std::vector<std::string>& shapes) {
  command
      .add_option(
          "--shape", shapes,
          "Shape of a dynamic input: 1x3x224x224, or NAME=1x3x224x224 if there are several; "
          "NAME=1x16:int64 if not float32 (repeatable)")
      ->type_name("SHAPE")
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

}  // namespace sparsebit::cli
