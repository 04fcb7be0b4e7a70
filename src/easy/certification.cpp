#include "easy/certification.h"

#include "easy/file_kind.h"
#include "easy/model_inputs.h"
#include "easy/model_source.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/json_view.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/progress.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/core/temp_file.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace sparsebit::easy {
namespace {

/// Samples per batch; small, because up to four sessions hold their tensors in memory.
constexpr int64_t kBatch = 4;

/// The float model as an ONNX file: the user's own file, or a temporary export of another format.
class OriginalAsOnnx {
 public:
  OriginalAsOnnx(const std::string& model, const PreparedData& data, uint64_t seed) : path_(model) {
    if (model.empty() || is_onnx_file(model)) return;
    const LoadedModel loaded = load_with_shapes(model, {}, seed);
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

constexpr const char* kHowToWrite =
    "--force overwrites it, --certificate FILE writes to another file";

std::string name_of(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

/// Reads the certificate at `path`: the name of the certified file, and the hashes of file and
/// data. Returns nothing if there is no file. Throws InvalidArgument if it is not a certificate.
std::optional<std::map<std::string, std::string>> facts_of_certificate(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const bool is_one = json.is_object() && json.contains("comparisons") && json.contains("sha256");
  SPARSEBIT_CHECK(is_one, InvalidArgument, path, ": not a certificate; ", kHowToWrite);
  const JsonView<nlohmann::json> view(json, path, ErrorKind::InvalidArgument);
  const auto text_at = [](const JsonView<nlohmann::json>& object, const char* key) {
    const auto found = object.find(key);
    return found ? found->text() : "";
  };
  return std::map<std::string, std::string>{{"name", text_at(view, "file")},
                                            {"file", text_at(view["sha256"], "file")},
                                            {"data", text_at(view["sha256"], "data")}};
}

/// The error message for a failed comparison.
std::string failure(const exports::Certificate& certificate,
                    const exports::Comparison& comparison) {
  using exports::Runner;
  const std::string failed = "the certificate failed: " + to_string(comparison.runner) + ": ";
  if (!comparison.missing.empty()) return failed + comparison.missing;
  const auto worst =
      std::max_element(comparison.outputs.begin(), comparison.outputs.end(),
                       [](const auto& a, const auto& b) { return a.of_most < b.of_most; });
  std::string text = fmt::format(
      "{}0.1 % of the elements of '{}' differ by {:.3g} steps or more from the {}; allowed: {:.3g} "
      "steps (--most-steps, --most-steps-optimized)",
      failed, worst->output, worst->of_most, certificate.expected, *comparison.limit);
  if (certificate.rounding)
    text += fmt::format("; float rounding alone changes it by {:.3g} steps", *certificate.rounding);
  text += "; " + certificate.processor;
  const exports::Comparison* optimized = certificate.find(Runner::Optimized);
  if (optimized && optimized->missing.empty() && comparison.runner != Runner::Optimized)
    text += optimized->passed ? "; ONNX Runtime, optimized, passed"
                              : "; ONNX Runtime, optimized, failed too";
  return text;
}

}  // namespace

std::string certificate_file(const std::string& file, const CertificationOptions& options) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path(file).replace_extension(".certificate.json").string();
}

void check_certificate_file(const std::string& file, bool replaced,
                            const CertificationOptions& options) {
  if (options.force) return;
  const std::string path = certificate_file(file, options);
  const auto old = facts_of_certificate(path);
  if (!old) return;
  const bool same =
      replaced ? old->at("name") == name_of(file) : old->at("file") == sha256_of_file(file);
  SPARSEBIT_CHECK(same, InvalidArgument, path, ": already the certificate of another file",
                  old->at("name").empty() ? "" : ", " + old->at("name"), "; ", kHowToWrite);
}

exports::Certificate certify_file(const std::string& file, const std::string& original,
                                  const std::string& config, quant::QuantModel* simulation,
                                  const PreparedData& data, const CertificationOptions& options) {
  malloc_trim(0);  // return the memory that main() keeps: ONNX Runtime is another process
  const OriginalAsOnnx as_onnx(original, data, options.common.seed);
  const int64_t count = options.samples > 0 ? std::min(options.samples, data.size()) : data.size();
  Progress progress("certifying", count, shown_progress(options.common, options.json));
  exports::CertifyOptions asked{.file = file,
                                .original = as_onnx.path(),
                                .simulation = simulation,
                                .most_steps = options.most_steps,
                                .most_steps_optimized = options.most_steps_optimized,
                                .without_runtime = options.without_runtime};
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
  return certificate;
}

std::string remove_old_certificate(const std::string& file, OutputSet& outputs) {
  const std::string path = certificate_file(file, {});
  if (!std::filesystem::exists(path)) return "";
  const auto json = nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const bool is_about_it = json.is_object() && json.contains("comparisons") &&
                           json.value("file", nlohmann::json()) == name_of(file);
  if (!is_about_it) return "";
  outputs.remove_at_commit(path);
  const std::string warning =
      fmt::format("{} is removed: it certifies the file that is replaced", path);
  log_warning("{}", warning);
  return warning;
}

void check_same_data(const exports::Certificate& certificate, const std::string& file,
                     const CertificationOptions& options) {
  const std::string path = certificate_file(file, options);
  const auto old = facts_of_certificate(path);
  SPARSEBIT_CHECK(options.force || !old || old->at("data") == certificate.sha256.at("data"),
                  InvalidArgument, path, ": already a certificate made with other data; ",
                  kHowToWrite);
}

void write_certificate(const exports::Certificate& certificate, const std::string& file,
                       const std::string& path) {
  auto json = nlohmann::ordered_json::parse(exports::to_json(certificate));
  json["file"] = name_of(file);
  write_file_atomically(path, json_text(json));
}

std::string problem_of(const exports::Certificate& certificate,
                       const CertificationOptions& options) {
  using exports::Verdict;
  for (const exports::Comparison& comparison : certificate.comparisons) {
    if (!comparison.passed) return failure(certificate, comparison);
  }
  if (certificate.verdict() == Verdict::Incomplete) {
    const auto missing =
        std::find_if(certificate.comparisons.begin(), certificate.comparisons.end(),
                     [](const auto& comparison) { return !comparison.missing.empty(); });
    const std::string why =
        missing == certificate.comparisons.end() ? "no output could be compared" : missing->missing;
    return "the certificate is incomplete: " + why + " (--without-runtime skips ONNX Runtime)";
  }
  const bool useless =
      certificate.quality && certificate.quality->level == exports::QualityLevel::Useless;
  if (options.allow_useless || !useless) return "";
  return fmt::format(
      "the file computes what is expected, but its quality is useless: {:.1f} dB signal-to-noise "
      "ratio to the float model (`sparsebit analyze` shows the layers with the largest error; "
      "--allow-useless accepts the file)",
      certificate.quality->snr);
}

void check_passed(const exports::Certificate& certificate, const CertificationOptions& options) {
  const std::string problem = problem_of(certificate, options);
  SPARSEBIT_CHECK(problem.empty(), InvalidModel, problem);
}

}  // namespace sparsebit::easy
