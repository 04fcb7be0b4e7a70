#pragma once

#include "sparsebit/export/speed.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit {
class ChildProcess;
}

namespace sparsebit::exports {

/// How a model is run.
struct OrtOptions {
  std::string optimize = "all";  ///< graph optimizations: "disable", "basic" or "all"
  int threads = 1;
  std::filesystem::path optimized = {};  ///< where to write the optimized model; optional
};

/// A model that ONNX Runtime has loaded.
struct OrtSession {
  int number;
  std::vector<std::string> inputs, outputs;  ///< names, in the order of the file
};

/// ONNX Runtime in a child process, so that nothing links against it and it checks exported files
/// independently.
///
/// It is the package `onnxruntime-node` in a folder (install_onnxruntime.sh), or Python's package
/// `onnxruntime`. SPARSEBIT_ONNXRUNTIME names the folder or the Python interpreter; without it,
/// these are tried in turn: the folder `onnxruntime` beside that of the program,
/// PREFIX/share/sparsebit/onnxruntime, ~/.cache/sparsebit/onnxruntime, and `python3`.
class OnnxRuntime {
 public:
  /// Throws Unsupported, saying how to install it, when it is not found.
  OnnxRuntime();
  ~OnnxRuntime();

  const std::string& version() const { return version_; }

  using Tensors = std::map<std::string, at::Tensor>;  ///< by input name

  /// Names inputs that are given in the order of the file. Throws InvalidModel when their number is
  /// not that of the session's inputs.
  static Tensors by_name(const OrtSession& session, const std::vector<at::Tensor>& inputs);

  /// Throws InvalidModel with ONNX Runtime's message when it rejects the file.
  OrtSession load(const std::filesystem::path& model, const OrtOptions& options = {});
  void unload(const OrtSession& session);
  /// Outputs in the order of the file. Throws InvalidArgument when ONNX Runtime rejects the inputs.
  std::vector<at::Tensor> run(const OrtSession& session, const Tensors& inputs);
  /// Times of each run. Every round runs each session once, so that load changes affect all alike.
  std::vector<RunTimes> time(const std::vector<OrtSession>& sessions,
                             const std::vector<Tensors>& inputs, int rounds);

 private:
  std::unique_ptr<ChildProcess> process_;
  std::string version_;
};

}  // namespace sparsebit::exports
