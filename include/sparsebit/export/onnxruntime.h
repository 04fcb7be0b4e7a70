#pragma once

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
  std::filesystem::path optimized = {};  ///< where the model that really runs is written, if told
};

/// A model that ONNX Runtime has loaded.
struct OrtSession {
  int number;
  std::vector<std::string> inputs, outputs;  ///< names, in the order of the file
};

/// ONNX Runtime in a process of its own: it judges files, and nothing of ours links it.
///
/// It is the package `onnxruntime-node` in a folder (scripts/install_onnxruntime.sh FOLDER), or
/// Python's package `onnxruntime`. SPARSEBIT_ONNXRUNTIME names the folder or the Python
/// interpreter; without it, the folder `onnxruntime` beside that of the program is tried, then
/// `python3`.
class OnnxRuntime {
 public:
  /// Throws Unsupported, saying how to install it, when it is not there.
  OnnxRuntime();
  ~OnnxRuntime();

  const std::string& version() const { return version_; }

  using Tensors = std::map<std::string, at::Tensor>;  ///< by input name

  /// Throws InvalidModel with ONNX Runtime's own words when it refuses the file.
  OrtSession load(const std::filesystem::path& model, const OrtOptions& options = {});
  void unload(const OrtSession& session);
  /// Results in the order of the file. Throws InvalidArgument when it does not take the inputs.
  std::vector<at::Tensor> run(const OrtSession& session, const Tensors& inputs);
  /// Milliseconds of one run of each, the median of `rounds` in which they take turns.
  std::vector<double> time(const std::vector<OrtSession>& sessions,
                           const std::vector<Tensors>& inputs, int rounds);

 private:
  std::unique_ptr<ChildProcess> process_;
  std::string version_;
};

}  // namespace sparsebit::exports
