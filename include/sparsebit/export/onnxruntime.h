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
  std::string file = {};                     ///< for messages
};

/// ONNX Runtime in a child process, so that nothing links against it and it checks exported files
/// independently.
///
/// It is the package `onnxruntime-node` in a folder (install_onnxruntime.sh), or Python's package
/// `onnxruntime`. SPARSEBIT_ONNXRUNTIME names the folder or the Python interpreter; without it,
/// these are tried in turn: the folder `onnxruntime` beside that of the program,
/// PREFIX/share/sparsebit/onnxruntime, ~/.cache/sparsebit/onnxruntime, and `python3`.
///
/// It has 60 seconds to start and 600 for each reply, or the number in SPARSEBIT_RUNTIME_SECONDS;
/// then it is killed and TooLarge is thrown, as when its results are larger than the memory limit.
/// An unexpected end or reply throws Io. After these errors every call throws them
/// again. The thread that creates this object must outlive it: the process is killed when that
/// thread ends.
class OnnxRuntime {
 public:
  /// Throws Unsupported, saying how to install it, when it is not found; InvalidArgument when
  /// SPARSEBIT_RUNTIME_SECONDS is not a positive number.
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
