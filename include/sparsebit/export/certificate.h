#pragma once

#include "sparsebit/quant/quant_model.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// How far an output is from what it should be. A step is the scale of the output's own integers
/// in the file, or 1/255 of the range of what was expected if the output is float.
struct OutputDifference {
  std::string output;
  double step = 0;
  double largest = 0;      ///< in steps
  double of_most = 0;      ///< 99.9 % of the elements differ by at most this many steps
  double within_step = 1;  ///< share of elements that differ by at most one step
  double relative = 0;     ///< largest difference / largest number expected
  std::optional<double> answer =
      {};  ///< share of samples with the same best class, if it is scores
};

/// A way to compute a model.
enum class Runner { ReadAgain, NotOptimized, Optimized, FloatModel };
/// "file, read again", "ONNX Runtime, not optimized", "ONNX Runtime, optimized", "float model"
std::string to_string(Runner runner);

/// One way to compute the model, compared with what is expected.
struct Comparison {
  Runner runner;
  std::vector<OutputDifference> outputs = {};
  std::optional<double> limit = {};  ///< on `of_most`; nothing: it is told, not judged
  bool passed = true;
  std::string missing = {};  ///< why it could not be compared; then there are no outputs
};

/// Milliseconds of one run in ONNX Runtime: optimized, one thread, one sample.
struct MeasuredSpeed {
  double original = 0;
  double quantized = 0;
  double ratio() const { return original / quantized; }
};

/// What was found out about a quantized file.
struct Certificate {
  int64_t samples = 0;
  std::string expected;  ///< what the others are compared with: "simulation" or "file, read again"
  std::vector<Comparison> comparisons = {};
  std::optional<MeasuredSpeed> speed = {};
  std::string onnxruntime = {};  ///< its version; empty when it is not installed
  std::string processor = {};
  std::map<std::string, std::string> sha256 = {};  ///< "file", "data", ...

  bool passed() const;
  /// The comparison of this way; null when there is none.
  const Comparison* find(Runner runner) const;
};

struct CertifyOptions {
  std::filesystem::path file;           ///< quantized, ONNX
  std::filesystem::path original = {};  ///< the float model as ONNX, if there is one
  /// What the file was made from; without it the file, read again, is what is expected.
  quant::QuantModel* simulation = nullptr;
  /// 99.9 % of the elements may differ by this many steps: in our interpreter and in ONNX Runtime
  /// without optimizations. Unless told, 1 where sums are exact (files of pairs for BACKEND
  /// onnxruntime), and elsewhere as with optimizations ...
  std::optional<double> most_steps = {};
  /// ... and with them, when kernels round their own way at every layer. Unless told, as many as
  /// the float model differs, but at least 1 and at most 32: then the kernels lose no more than
  /// quantizing did. Without a float model it is not judged.
  std::optional<double> most_steps_optimized = {};
  int rounds = 20;  ///< for the speed; 0 does not measure it
  /// What runs the file that is read again.
  fx::ExecutorFactory executors = fx::make_interpreter;
  std::function<void(int64_t)> on_samples = {};  ///< called with how many more are done
};

/// The inputs of the next samples; empty when there are no more. It is told how many the file takes
/// at once; 0 when any number will do.
using NextBatch = std::function<std::vector<at::Tensor>(int64_t fixed)>;

/// Computes the samples with the simulation, with the file read again and with ONNX Runtime, with
/// and without optimizations, and compares. Without ONNX Runtime the rest is compared. Throws
/// InvalidModel when the file has nothing quantized.
Certificate certify(const CertifyOptions& options, const NextBatch& next);

/// Adds the SHA-256 of a model's file as `what`, and those of files that hold its weights as
/// `what/<name>`.
void add_sha256(std::map<std::string, std::string>& sums, const std::string& what,
                const std::filesystem::path& model);

/// For people: a line for each way.
std::string to_text(const Certificate& certificate);
/// For tools.
std::string to_json(const Certificate& certificate);

}  // namespace sparsebit::exports
