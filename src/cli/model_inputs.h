#pragma once

#include "cli/input_options.h"
#include "cli/model_source.h"

#include "sparsebit/data/model_data.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// The inputs of a model, and what they take as far as it tells.
std::vector<data::InputSpec> input_specs(const LoadedModel& model);

/// Throws InvalidArgument, with near matches, when the model has no such input.
void check_input(const fx::GraphModule& module, const std::string& name);

/// Throws Unsupported, naming the input, when no tensor can hold one.
void check_inputs_are_tensors(const LoadedModel& model);

/// Throws InvalidArgument, naming the input, when the shape of one is told neither by the file nor
/// by an example nor with --shape.
void check_shapes_known(const LoadedModel& model);

/// Notes the shapes given with --shape on the placeholders: sizes that were open become fixed.
/// `known` is what known_shapes() found, for inputs of which the model tells nothing. Example
/// inputs of another shape are dropped. Throws InvalidArgument for unknown names and for shapes
/// that contradict the file.
void apply_shapes(LoadedModel& model, const InputOptions& options, const KnownShapes& known);

/// load_model() with the shapes of --shape applied; bfloat16 models become float32.
LoadedModel load_with_shapes(const std::string& source, const std::vector<std::string>& shapes,
                             uint64_t seed);

/// One value per placeholder: from files, from a zoo model's examples, the input's default, or
/// random numbers that depend on `seed` and the input's name only. Open sizes are those that given
/// inputs show for the same symbol, else 1. Throws InvalidArgument, one line, for what is missing
/// or does not fit.
std::vector<fx::Value> make_inputs(const LoadedModel& model, const InputOptions& options,
                                   uint64_t seed);

/// Throws InvalidArgument, naming the input, when one has more bytes than this machine has memory.
void check_memory(const LoadedModel& model);

/// Runs the model once, for shapes, and gives what it gave: on the files given, else on random
/// inputs. An unknown operator is carried, and sizes that are open stay open: then the shapes are
/// those the file tells. A model that does not run is warned about.
std::optional<fx::Value> record_shapes(LoadedModel& model, const InputOptions& given,
                                       uint64_t seed);

/// Random values for every placeholder, as above; nothing when a shape is not known or not fixed.
std::optional<std::vector<fx::Value>> inputs_of_fixed_shape(const LoadedModel& model,
                                                            uint64_t seed);

}  // namespace sparsebit::cli
