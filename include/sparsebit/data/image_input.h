#pragma once

#include "sparsebit/data/model_data.h"

#include <optional>
#include <string>

namespace sparsebit::data {

/// What an input that takes images wants; -1 where its shape leaves a size open.
struct ImageInput {
  int64_t channels = -1, height = -1, width = -1;
  io::Preprocess::Layout layout = io::Preprocess::Layout::Chw;
  bool bytes = false;  ///< uint8

  bool has_size() const { return height > 0 && width > 0; }
  /// "3x224x224", as the input has it; "?" where a size is open
  std::string to_text() const;
};

/// Nothing when the input takes no batches of images of 1, 3 or 4 channels. An input of which the
/// model tells nothing may take images of any kind.
std::optional<ImageInput> image_input(const InputSpec& input);

/// A preset as the input wants it: in its size and layout, and without normalization where it takes
/// bytes.
io::Preprocess fitted(const io::Preprocess& preset, const ImageInput& input);

}  // namespace sparsebit::data
