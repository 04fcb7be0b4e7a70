#pragma once

#include "sparsebit/io/preprocess.h"

#include <optional>
#include <string>

namespace sparsebit::cli {

/// What a file of `sparsebit quantize` was made of.
struct Origin {
  std::string config = {};                        ///< the YAML; empty when nothing is known
  std::optional<io::Preprocess> preprocess = {};  ///< of its samples
};

/// Read from the file: the simulation's own, or ONNX. Nothing is known of other models.
Origin origin_of_model(const std::string& model);

}  // namespace sparsebit::cli
