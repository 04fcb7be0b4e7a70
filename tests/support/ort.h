#pragma once

#include "sparsebit/export/onnxruntime.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::test {

/// One model for ONNX Runtime, and its inputs.
struct OrtCase {
  std::filesystem::path model;
  exports::OnnxRuntime::Tensors inputs;
  std::string optimize = "disable";  ///< graph optimizations: "disable", "basic" or "all"
  int threads = 1;
  std::filesystem::path optimized = {};  ///< path for the optimized model, if not empty
};

struct OrtResult {
  std::string error;                ///< one line; empty when the model ran
  std::vector<std::string> names;   ///< of the outputs
  std::vector<at::Tensor> outputs;  ///< in the order of the file
};

/// Runs all cases. A model that ONNX Runtime refuses is a result with an error. The test program
/// must require the ctest fixture `onnxruntime`, which installs it beside the program's folder.
std::vector<OrtResult> run_onnxruntime(const std::vector<OrtCase>& cases);

}  // namespace sparsebit::test
