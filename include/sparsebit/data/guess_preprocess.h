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

/// The images that there are, for models that do not tell what they take.
struct StoredImage {
  int64_t channels = 3, height = -1, width = -1;
};

/// The first rule that fits, by names, shapes and metadata; ImageNet's normalization when none
/// does. Where the model normalizes pixels itself, or takes bytes, the guess does not.
/// Small images, as CIFAR-10 and MNIST have them, are not resized for a model that does not tell
/// its input's size.
PreprocessGuess guess_preprocess(const ModelFacts& facts, const InputSpec& input,
                                 const StoredImage& stored = {});

}  // namespace sparsebit::data
