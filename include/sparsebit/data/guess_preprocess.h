#pragma once

#include "sparsebit/data/model_facts.h"

#include <string>

namespace sparsebit::data {

/// The preprocessing of images that is guessed when the user gives none.
struct PreprocessGuess {
  std::string preset;  ///< a name of io::preprocess_presets()
  io::Preprocess settings;
  std::string because;  ///< "a 3x224x224 input and 1000 classes"
};

/// The size of the stored images, for models whose input shape is unknown.
struct StoredImage {
  int64_t channels = 3, height = -1, width = -1;
};

/// Applies the first matching rule on names, shapes and metadata; without a match, ImageNet's
/// preprocessing. Does not normalize if the model normalizes pixels itself or takes uint8. Small
/// images (CIFAR-10, MNIST) are not resized if the model's input size is unknown.
PreprocessGuess guess_preprocess(const ModelFacts& facts, const InputSpec& input,
                                 const StoredImage& stored = {});

}  // namespace sparsebit::data
