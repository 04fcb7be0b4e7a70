#pragma once

#include "cli/model_source.h"

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// Options with which a user gives a model's inputs or tells their shapes.
struct InputOptions {
  std::vector<std::string> files = {};   ///< NAME=file.npy, or file.npy for the only input
  std::vector<std::string> shapes = {};  ///< NAME=1x3x224x224 or NAME=1x16:int64
  bool random = false;                   ///< fill inputs that are not given
};

/// Declares --shape.
void add_shape_option(CLI::App& command, InputOptions& options);
/// Declares --input and --random as well.
void add_input_options(CLI::App& command, InputOptions& options);

/// Names of inputs that the options speak of, as far as they have one; for ModelOptions.
std::vector<std::string> named_inputs(const InputOptions& options);
/// Types and shapes that the options and the files they name tell; for ModelOptions. Throws
/// UsageError for a --shape that does not parse or speaks of an input again.
std::map<std::string, fx::TensorInfo> known_shapes(const InputOptions& options);

/// Throws InvalidArgument, with near matches, when the model has no such input.
void check_input(const fx::GraphModule& module, const std::string& name);

/// Throws InvalidArgument, naming the input, when the shape of one is told neither by the file nor
/// by an example nor with --shape.
void check_shapes_known(const LoadedModel& model);

/// Notes the shapes given with --shape on the placeholders: sizes that were open become fixed.
/// Example inputs of another shape are dropped. Throws InvalidArgument for unknown names and for
/// shapes that contradict the file.
void apply_shapes(LoadedModel& model, const InputOptions& options);

/// One value per placeholder: from files, from a zoo model's examples, the input's default, or
/// random numbers that depend on `seed` and the input's name only. Open sizes are those that given
/// inputs show for the same symbol, else 1. Throws InvalidArgument, one line, for what is missing
/// or does not fit.
std::vector<fx::Value> make_inputs(const LoadedModel& model, const InputOptions& options,
                                   uint64_t seed);

/// Throws InvalidArgument, naming the input, when one has more bytes than this machine has memory.
void check_memory(const LoadedModel& model);

/// Random values for every placeholder, as above; nothing when a shape is not known or not fixed.
std::optional<std::vector<fx::Value>> inputs_of_fixed_shape(const LoadedModel& model,
                                                            uint64_t seed);

}  // namespace sparsebit::cli
