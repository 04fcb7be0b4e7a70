#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::test {

/// One model for ONNX Runtime, and what to feed it.
struct OrtCase {
  std::filesystem::path model;
  std::map<std::string, at::Tensor> inputs;  ///< by input name
  std::string optimize = "disable";          ///< graph optimizations: "disable", "basic" or "all"
  int threads = 1;
  std::filesystem::path optimized = {};  ///< where the model that really runs is written
};

struct OrtResult {
  std::string error;                ///< one line; empty when the model ran
  std::vector<std::string> names;   ///< of the outputs
  std::vector<at::Tensor> outputs;  ///< in the order of the file
};

/// Runs all cases in one process of ONNX Runtime: starting it costs more than a small model. A
/// model that ONNX Runtime refuses is a result with an error. Throws std::runtime_error when ONNX
/// Runtime itself does not work.
///
/// The test program must require the ctest fixture `onnxruntime`, which installs it. With
/// SPARSEBIT_ORT=python in the environment Python's onnxruntime is used instead.
std::vector<OrtResult> run_onnxruntime(const std::vector<OrtCase>& cases);

}  // namespace sparsebit::test
