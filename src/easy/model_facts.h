#pragma once

#include "easy/model_source.h"

#include "sparsebit/data/model_facts.h"

#include <functional>

namespace sparsebit::easy {

/// Facts about a model for guessing its preprocessing, collected when the function is called: the
/// graph, the metadata of the file, input sizes of a zoo model, and output shapes, from a run on
/// random inputs if the file does not state them. Keeps a reference to `model`.
std::function<data::ModelFacts()> facts_of(const LoadedModel& model);

}  // namespace sparsebit::easy
