#pragma once

#include "sparsebit/data/model_facts.h"

#include <cstdint>

namespace sparsebit::data {

/// Seeded random samples for all inputs of a model: images of noise, prepared as the model's images
/// are by guess_preprocess(); rows of the tables that ids are looked up in; masks of ones; other
/// numbers from a normal distribution. Open sizes are 224 for images and 32 for tokens.
/// @param count  how many samples; rounded up to what the model takes at once.
/// Throws InvalidArgument, naming the input, when its shape is not known.
ModelData random_data(const ModelFacts& facts, int64_t count, uint64_t seed);

}  // namespace sparsebit::data
