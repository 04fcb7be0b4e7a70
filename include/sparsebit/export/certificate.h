#pragma once

#include "sparsebit/export/speed.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// How far one output is from the expected one. A step is the scale of the output's QuantizeLinear
/// in the file, or 1/255 of the range of the expected values if the output is float.
struct OutputDifference {
  std::string output;
  double step = 0;
  double largest = 0;      ///< in steps
  double of_most = 0;      ///< in steps: the 99.9th percentile of the elements' differences
  double within_step = 1;  ///< share of elements that differ by at most one step
  double relative = 0;     ///< largest difference / largest expected magnitude
  double snr = 0;          ///< signal-to-noise ratio in dB; infinite when all elements are equal
  std::optional<double> answer =
      {};  ///< share of samples with the same top-1 class, if the output is class scores
};

/// How the outputs of a comparison are computed: the ONNX file imported again and run by our
/// interpreter, the file in ONNX Runtime without and with graph optimizations, the float model.
enum class Runner { ReadAgain, NotOptimized, Optimized, FloatModel };
/// "file, read again", "ONNX Runtime, not optimized", "ONNX Runtime, optimized", "float model"
std::string to_string(Runner runner);

/// The outputs of one runner, compared with the expected ones.
struct Comparison {
  Runner runner;
  std::vector<OutputDifference> outputs = {};
  std::optional<double> limit = {};  ///< on `of_most`; unset: reported, not judged
  bool passed = true;
  std::string missing = {};  ///< why it was not compared; then `outputs` is empty
};

/// Whether the file computes the expected outputs.
enum class Verdict {
  Passed,
  Failed,
  Incomplete,  ///< nothing failed, but ONNX Runtime was not found or no comparison was judged
};
/// "passed", "failed", "incomplete"
std::string to_string(Verdict verdict);

/// How close the quantized file's outputs are to those of the float model.
enum class QualityLevel { Good, Degraded, Useless };
/// "good", "degraded", "useless"
std::string to_string(QualityLevel level);

/// The file as it will be deployed, compared with the float model.
struct Quality {
  QualityLevel level = QualityLevel::Good;
  double snr = 0;                        ///< signal-to-noise ratio of the worst output, in dB
  std::optional<double> same_top1 = {};  ///< share of samples; only for class scores
  bool top1_is_judged = false;           ///< false with fewer than 10 samples
};

/// By signal-to-noise ratio: less than 5 dB is useless, less than 15 dB degraded. By top-1
/// agreement, given at least 10 samples: less than half is useless, less than 90 % degraded. The
/// worse of the two counts, but a file that is good by one of them is at most degraded: the top-1
/// class of an untrained network changes with every rounding error, that of a confident one does
/// not.
Quality quality_of(double snr, std::optional<double> same_top1, int64_t samples);

/// The result of certify().
struct Certificate {
  int64_t samples = 0;
  bool is_quantized = true;  ///< false: the simulation quantizes nothing, and the file is float
  std::string expected;  ///< the reference of all comparisons: "simulation" or "file, read again"
  std::vector<Comparison> comparisons = {};
  /// Set if there is a float model. Boxes selected by non-maximum suppression are excluded: the
  /// same boxes in another order are not worse. Detectors are measured by mAP.
  std::optional<Quality> quality = {};
  bool selects_boxes = false;  ///< some outputs are boxes selected by non-maximum suppression
  std::optional<MeasuredSpeed> speed = {};
  /// By how many steps outputs move when intermediate floats, which libraries round differently,
  /// change in their last bit; measured only if a comparison exceeds one step.
  std::optional<double> rounding = {};
  bool without_runtime = false;  ///< as CertifyOptions::without_runtime
  std::string onnxruntime = {};  ///< its version; empty if it did not run
  std::string processor = {};
  std::map<std::string, std::string> sha256 = {};  ///< "file", "data", ...

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::Passed; }
  /// The comparison of a runner; null if there is none.
  const Comparison* find(Runner runner) const;
};

struct CertifyOptions {
  std::filesystem::path file;           ///< quantized, ONNX
  std::filesystem::path original = {};  ///< the float model as ONNX; optional
  /// The model that the file was exported from: the reference. Without it, the reference is the
  /// file itself, imported again and run by our interpreter.
  quant::QuantModel* simulation = nullptr;
  /// Limit on OutputDifference::of_most in our interpreter and in ONNX Runtime without
  /// optimizations. Default: 1, or twice Certificate::rounding if that is more; for files of
  /// integer operators, the default of most_steps_optimized.
  std::optional<double> most_steps = {};
  /// Limit on OutputDifference::of_most in ONNX Runtime with optimizations, whose fused integer
  /// kernels round differently at every layer. Default: the float model's own difference, at least
  /// 1 and at most 32, so that the kernels lose no more than quantization did. Without a float
  /// model it is not judged.
  std::optional<double> most_steps_optimized = {};
  bool without_runtime = false;  ///< do not run ONNX Runtime; needs `simulation`
  double speed_seconds = 5;      ///< approximate time to measure the speed; 0 skips it
  /// Makes the executor that runs the imported file.
  fx::ExecutorFactory executors = fx::make_interpreter;
  std::function<void(int64_t)> on_samples = {};  ///< called with the number of samples just done
};

/// The inputs of the next batch; empty when there are no more samples. `fixed` is the file's batch
/// size, 0 if it takes any.
using NextBatch = std::function<std::vector<at::Tensor>(int64_t fixed)>;

/// Runs the samples through the simulation, the imported file and ONNX Runtime, with and without
/// optimizations, and compares the outputs. If ONNX Runtime is not found, the rest is compared and
/// the verdict is Incomplete. Throws InvalidModel when the file has no quantized nodes, unless the
/// simulation quantizes nothing either, and InvalidArgument when quantization of the simulation is
/// off or there is nothing to compare with.
Certificate certify(const CertifyOptions& options, const NextBatch& next);

/// Adds the SHA-256 of a model's file as `what`, and those of its external data files as
/// `what/<name>`.
void add_sha256(std::map<std::string, std::string>& sums, const std::string& what,
                const std::filesystem::path& model);

/// A table for people, one line per runner.
std::string to_text(const Certificate& certificate);
/// As JSON, for tools.
std::string to_json(const Certificate& certificate);

}  // namespace sparsebit::exports
