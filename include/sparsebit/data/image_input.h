#pragma once

#include "sparsebit/data/model_data.h"

#include <optional>
#include <string>

namespace sparsebit::data {

/// The image format of a model input; -1 for dynamic sizes.
struct ImageInput {
  int64_t channels = -1, height = -1, width = -1;
  io::Preprocess::Layout layout = io::Preprocess::Layout::Chw;
  bool bytes = false;  ///< whether the input is uint8

  bool has_size() const { return height > 0 && width > 0; }
  /// "3x224x224", in the input's layout; "?" for dynamic sizes
  std::string to_text() const;
};

/// nullopt when the input does not take batches of images with 1, 3 or 4 channels. An input of
/// unknown shape is assumed to take images of any size.
std::optional<ImageInput> image_input(const InputSpec& input);

/// Adapts a preset to an input: its size and layout, and no normalization for uint8 inputs.
io::Preprocess fitted(const io::Preprocess& preset, const ImageInput& input);

}  // namespace sparsebit::data
