#pragma once

#include "sparsebit/data/model_facts.h"

#include <string>

namespace sparsebit::data {

/// How images are prepared for a model when nobody says it.
struct PreprocessGuess {
  std::string preset;  ///< a name of io::preprocess_presets()
  io::Preprocess settings;
  std::string because;  ///< "a 3x224x224 input and 1000 classes"
};

/// The first rule that fits, by names, shapes and metadata; ImageNet's normalization when none
/// does. Where the model normalizes pixels itself, or takes bytes, the guess does not.
/// @param stored_channels  of the images that there are, for models that do not tell theirs.
PreprocessGuess guess_preprocess(const ModelFacts& facts, const InputSpec& input,
                                 int64_t stored_channels);

}  // namespace sparsebit::data
