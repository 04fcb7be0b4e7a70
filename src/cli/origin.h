#pragma once

#include "sparsebit/io/preprocess.h"

#include <optional>
#include <string>

namespace sparsebit::cli {

/// How a file of `sparsebit quantize` was made.
struct Origin {
  std::string config = {};  ///< the quantization config (YAML); empty if unknown
  std::optional<io::Preprocess> preprocess = {};  ///< of the calibration samples
};

/// Reads the origin stored in a simulation or ONNX file; empty for other models.
Origin origin_of_model(const std::string& model);

}  // namespace sparsebit::cli
