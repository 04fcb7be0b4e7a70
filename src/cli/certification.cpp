#include "cli/certification.h"

#include "cli/file_kind.h"
#include "cli/model_source.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/progress.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/core/temp_file.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

namespace sparsebit::cli {
namespace {

/// Samples at a time: four ways to compute them hold memory.
constexpr int64_t kBatch = 4;

/// The float model for ONNX Runtime: the user's own file, or what is written from another format.
class OriginalAsOnnx {
 public:
  OriginalAsOnnx(const std::string& model, const PreparedData& data, uint64_t seed) : path_(model) {
    if (model.empty() || is_onnx_file(model)) return;
    const LoadedModel loaded = load_model(model, {.seed = seed});
    loaded.module->eval();
    const int64_t fixed = loaded.module->fixed_batch();
    const PreparedData::Batch example = data.batch(0, std::max<int64_t>(1, fixed));
    fx::record_shapes(*loaded.module, values_of(example.inputs));
    exports::OnnxExportOptions options{.opset = 17};
    const auto inputs = loaded.module->graph().placeholders();
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      auto& axes = options.dynamic_axes[inputs[i]->target()];
      if (fixed == 0 && example.inputs[i].dim() > 0) axes[0] = "batch";
      if (data.is_ragged() && example.inputs[i].dim() == 2) axes[1] = "sequence";
    }
    file_.emplace(".onnx");
    exports::export_onnx(*loaded.module, file_->path(), options);
    path_ = file_->path();
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<TempFile> file_;
};

}  // namespace

std::vector<CLI::Option*> add_certification_options(CLI::App& command,
                                                    CertificationOptions& options) {
  const auto number_from_zero = [](const std::string& text) -> std::string {
    double number = -1;
    const bool is_number = CLI::detail::lexical_cast(text, number) && std::isfinite(number);
    return is_number && number >= 0 ? "" : "'" + text + "' is no number from 0 on";
  };
  return {
      command
          .add_option("--certificate", options.output,
                      "JSON file for the certificate; beside the quantized file unless told")
          ->check(not_empty),
      command
          .add_option("--most-steps", options.most_steps,
                      "By how many steps 99.9 % of the outputs may differ in our interpreter and "
                      "in ONNX Runtime without optimizations; 1 for files of the platform "
                      "onnxruntime, as optimized for others")
          ->check(number_from_zero),
      command
          .add_option("--most-steps-optimized", options.most_steps_optimized,
                      "The same for ONNX Runtime with optimizations, whose kernels round "
                      "differently; as many as the float model unless told")
          ->check(number_from_zero)};
}

std::string certificate_file(const std::string& file, const CertificationOptions& options) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path(file).replace_extension(".certificate.json").string();
}

exports::Certificate certify_file(const std::string& file, const std::string& original,
                                  const std::string& config, quant::QuantModel* simulation,
                                  const PreparedData& data, const CertificationOptions& options) {
  malloc_trim(0);  // what main() keeps for the next tensor is for another process now
  const OriginalAsOnnx as_onnx(original, data, options.common.seed);
  const int64_t count = options.samples > 0 ? std::min(options.samples, data.size()) : data.size();
  Progress progress("certifying", count, shown_progress(options.common, options.json));
  exports::CertifyOptions asked{.file = file,
                                .original = as_onnx.path(),
                                .simulation = simulation,
                                .most_steps = options.most_steps,
                                .most_steps_optimized = options.most_steps_optimized};
  asked.on_samples = [&](int64_t samples) { progress.advance(samples); };
  int64_t start = 0;
  exports::Certificate certificate =
      exports::certify(asked, [&](int64_t fixed) -> std::vector<at::Tensor> {
        const int64_t step = data.at_most(std::min(kBatch, count - start), fixed);
        if (start == count || start + step > count) return {};
        PreparedData::Batch batch = data.batch(start, step);
        start += batch.size;
        return std::move(batch.inputs);
      });
  progress.finish();
  if (!config.empty()) certificate.sha256["config"] = sha256_of(config);
  if (is_onnx_file(original)) exports::add_sha256(certificate.sha256, "model", original);
  write_file_atomically(certificate_file(file, options), exports::to_json(certificate));
  return certificate;
}

void check_passed(const exports::Certificate& certificate) {
  if (certificate.passed()) return;
  const std::string failed = "the certificate failed: ";
  for (const exports::Comparison& comparison : certificate.comparisons) {
    if (comparison.passed) continue;
    if (!comparison.missing.empty())
      throw Error(ErrorKind::InvalidModel,
                  failed + to_string(comparison.runner) + ": " + comparison.missing);
    const auto worst =
        std::max_element(comparison.outputs.begin(), comparison.outputs.end(),
                         [](const auto& a, const auto& b) { return a.of_most < b.of_most; });
    throw Error(ErrorKind::InvalidModel,
                fmt::format("{}{}: one in a thousand elements of '{}' is {:.3g} steps or more from "
                            "the {}, and {:.3g} are allowed (--most-steps, --most-steps-optimized)",
                            failed, to_string(comparison.runner), worst->output, worst->of_most,
                            certificate.expected, *comparison.limit));
  }
  throw Error(ErrorKind::InvalidModel,
              failed + "nothing could be compared: " + certificate.comparisons.front().missing);
}

}  // namespace sparsebit::cli
