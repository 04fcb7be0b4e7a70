#pragma once

#include "cli/model_source.h"

#include "sparsebit/data/model_facts.h"

#include <functional>

namespace sparsebit::cli {

/// What is known of a model for guesses, found out when it is asked for: its graph, the metadata of
/// its file, sizes of a zoo model's examples, and shapes of outputs that the file does not tell
/// from a run on random numbers. The model has to live as long.
std::function<data::ModelFacts()> facts_of(const LoadedModel& model);

}  // namespace sparsebit::cli
