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

/// How far an output is from what it should be. A step is the scale of the output's own integers
/// in the file, or 1/255 of the range of what was expected if the output is float.
struct OutputDifference {
  std::string output;
  double step = 0;
  double largest = 0;      ///< in steps
  double of_most = 0;      ///< 99.9 % of the elements differ by at most this many steps
  double within_step = 1;  ///< share of elements that differ by at most one step
  double relative = 0;     ///< largest difference / largest number expected
  double snr = 0;          ///< signal to noise, in decibels; infinite where nothing differs
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

/// Whether the file computes what was expected.
enum class Verdict {
  Passed,
  Failed,
  Incomplete,  ///< nothing failed, but ONNX Runtime, which is to run the file, was not there
};
/// "passed", "failed", "incomplete"
std::string to_string(Verdict verdict);

/// Whether the quantized file is as good as the float model.
enum class QualityLevel { Good, Degraded, Useless };
/// "good", "degraded", "useless"
std::string to_string(QualityLevel level);

/// The file as it will run, compared with the float model.
struct Quality {
  QualityLevel level = QualityLevel::Good;
  double snr = 0;                        ///< of the worst output, in decibels
  std::optional<double> same_top1 = {};  ///< of outputs that are scores of classes
  bool top1_is_judged = false;           ///< there are enough samples for it
};

/// By signal to noise: less than 5 dB is useless, less than 15 dB degraded. By the share of samples
/// with the same best class, if there are at least 10: less than half is useless, less than 90 %
/// degraded. The worse one counts, but what is good by one of them is not useless: best classes of
/// a network that knows nothing change with every rounding, and those of a sure one do not.
Quality quality_of(double snr, std::optional<double> same_top1, int64_t samples);

/// What was found out about a quantized file.
struct Certificate {
  int64_t samples = 0;
  bool is_quantized = true;  ///< or the simulation has nothing to quantize, and the file is float
  std::string expected;  ///< what the others are compared with: "simulation" or "file, read again"
  std::vector<Comparison> comparisons = {};
  /// If there is a float model. Boxes that are selected by non-maximum suppression do not count: a
  /// list in another order is not a worse one. Detectors are measured by mAP.
  std::optional<Quality> quality = {};
  bool selects_boxes = false;  ///< some outputs are such boxes
  std::optional<MeasuredSpeed> speed = {};
  /// By how many steps outputs move when floats that libraries round differently change in their
  /// last bit; measured where a comparison exceeds one step.
  std::optional<double> rounding = {};
  bool without_runtime = false;  ///< ONNX Runtime was not asked for
  std::string onnxruntime = {};  ///< its version; empty when it did not run
  std::string processor = {};
  std::map<std::string, std::string> sha256 = {};  ///< "file", "data", ...

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::Passed; }
  /// The comparison of this way; null when there is none.
  const Comparison* find(Runner runner) const;
};

struct CertifyOptions {
  std::filesystem::path file;           ///< quantized, ONNX
  std::filesystem::path original = {};  ///< the float model as ONNX, if there is one
  /// What the file was made from; without it the file, read again, is what is expected.
  quant::QuantModel* simulation = nullptr;
  /// 99.9 % of the elements may differ by this many steps: in our interpreter and in ONNX Runtime
  /// without optimizations. Unless told, 1, or twice what rounding alone does (see `rounding` of
  /// the certificate); files of integer operators, as with optimizations ...
  std::optional<double> most_steps = {};
  /// ... and with them, when kernels round their own way at every layer. Unless told, as many as
  /// the float model differs, but at least 1 and at most 32: then the kernels lose no more than
  /// quantizing did. Without a float model it is not judged.
  std::optional<double> most_steps_optimized = {};
  bool without_runtime = false;  ///< compare only what can be compared here
  double speed_seconds = 5;      ///< for measuring the speed, about; 0 does not measure it
  /// What runs the file that is read again.
  fx::ExecutorFactory executors = fx::make_interpreter;
  std::function<void(int64_t)> on_samples = {};  ///< called with how many more are done
};

/// The inputs of the next samples; empty when there are no more. It is told how many the file takes
/// at once; 0 when any number will do.
using NextBatch = std::function<std::vector<at::Tensor>(int64_t fixed)>;

/// Computes the samples with the simulation, with the file read again and with ONNX Runtime, with
/// and without optimizations, and compares. Without ONNX Runtime the rest is compared, and the
/// verdict is incomplete. Throws InvalidModel when the file has nothing quantized although the
/// simulation, if there is one, has, and
/// InvalidArgument when quantization of the simulation is off or there is nothing to compare with.
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
