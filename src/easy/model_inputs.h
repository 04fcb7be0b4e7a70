#pragma once

#include "easy/given_inputs.h"
#include "easy/model_source.h"

#include "sparsebit/data/model_data.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// The inputs of a model, with type and shape where the model states them.
std::vector<data::InputSpec> input_specs(const LoadedModel& model);

/// Throws InvalidArgument, with near matches, when the model has no input of this name.
void check_input(const fx::GraphModule& module, const std::string& name);

/// Throws Unsupported, naming the input, when an input is not a tensor of a supported type.
void check_inputs_are_tensors(const LoadedModel& model);

/// Throws InvalidArgument, naming the input, when a shape is given neither by the file, nor by an
/// example, nor with --shape.
void check_shapes_known(const LoadedModel& model);

/// Sets the shapes given with --shape on the placeholders: dynamic sizes become fixed. `known` is
/// the result of known_shapes(), for inputs whose shape the model does not state. Drops a zoo
/// model's example inputs if a shape is given. Throws InvalidArgument for unknown names and for
/// shapes that contradict the file.
void apply_shapes(LoadedModel& model, const InputOptions& options, const KnownShapes& known);

/// load_model() with the shapes of --shape applied; bfloat16 models become float32.
LoadedModel load_with_shapes(const std::string& source, const std::vector<std::string>& shapes,
                             uint64_t seed);

/// One value per placeholder: from files, from a zoo model's examples, the input's default, or
/// random numbers that depend on `seed` and the input's name only. Dynamic sizes are those of given
/// inputs with the same symbol, otherwise 1. Throws InvalidArgument, in one line, for an input that
/// is missing or does not fit.
std::vector<fx::Value> make_inputs(const LoadedModel& model, const InputOptions& options,
                                   uint64_t seed);

/// Throws InvalidArgument, naming the input, when an input is larger than the machine's memory.
void check_inputs_fit(const LoadedModel& model);

/// Runs the model once, on the given files or random inputs, to record the shape of every node, and
/// returns its result. Returns nothing, and keeps the shapes stated by the file, when operators are
/// unknown or sizes dynamic, or, with a warning, when the model does not run.
std::optional<fx::Value> record_shapes(LoadedModel& model, const InputOptions& given,
                                       uint64_t seed);

/// Random values for every placeholder, as make_inputs(); nothing if a shape is unknown or dynamic.
std::optional<std::vector<fx::Value>> inputs_of_fixed_shape(const LoadedModel& model,
                                                            uint64_t seed);

}  // namespace sparsebit::easy
