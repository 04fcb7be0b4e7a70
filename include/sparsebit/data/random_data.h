#pragma once

#include "sparsebit/data/model_facts.h"

#include <cstdint>

namespace sparsebit::data {

/// Seeded random samples for all inputs of a model: noise images, preprocessed by
/// guess_preprocess(); ids within the embedding table; masks of ones; normally distributed values
/// for other inputs. Dynamic sizes become 224 for images and 32 for tokens.
/// @param count  number of samples; rounded up to a multiple of the model's batch size.
/// Throws InvalidArgument, naming the input, when its shape is unknown.
ModelData random_data(const ModelFacts& facts, int64_t count, uint64_t seed);

}  // namespace sparsebit::data
