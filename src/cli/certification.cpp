#include "cli/certification.h"

#include "cli/file_kind.h"
#include "cli/model_inputs.h"
#include "cli/model_source.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/json_view.h"
#include "sparsebit/core/progress.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/core/temp_file.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
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

constexpr const char* kHowToWrite = "--force overwrites it, --certificate FILE names another";

std::string name_of(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

/// What the certificate at this place is about: its `file` and the hashes. Nothing when there is no
/// file. Throws InvalidArgument when it is something else.
std::optional<std::map<std::string, std::string>> facts_of_certificate(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const bool is_one = json.is_object() && json.contains("comparisons") && json.contains("sha256");
  SPARSEBIT_CHECK(is_one, InvalidArgument, path, ": it is no certificate; ", kHowToWrite);
  const JsonView<nlohmann::json> view(json, path, ErrorKind::InvalidArgument);
  const auto text_at = [](const JsonView<nlohmann::json>& object, const char* key) {
    const auto found = object.find(key);
    return found ? found->text() : "";
  };
  return std::map<std::string, std::string>{{"name", text_at(view, "file")},
                                            {"file", text_at(view["sha256"], "file")},
                                            {"data", text_at(view["sha256"], "data")}};
}

/// Why a certificate failed, for people.
std::string failure(const exports::Certificate& certificate,
                    const exports::Comparison& comparison) {
  using exports::Runner;
  const std::string failed = "the certificate failed: " + to_string(comparison.runner) + ": ";
  if (!comparison.missing.empty()) return failed + comparison.missing;
  const auto worst =
      std::max_element(comparison.outputs.begin(), comparison.outputs.end(),
                       [](const auto& a, const auto& b) { return a.of_most < b.of_most; });
  std::string text = fmt::format(
      "{}one in a thousand elements of '{}' is {:.3g} steps or more from the {}, and {:.3g} are "
      "allowed (--most-steps, --most-steps-optimized)",
      failed, worst->output, worst->of_most, certificate.expected, *comparison.limit);
  if (certificate.rounding)
    text += fmt::format("; rounding alone moves it by {:.3g} steps", *certificate.rounding);
  text += "; " + certificate.processor;
  const exports::Comparison* optimized = certificate.find(Runner::Optimized);
  if (optimized && optimized->missing.empty() && comparison.runner != Runner::Optimized)
    text += optimized->passed ? "; ONNX Runtime, optimized, passed" : "; optimized it failed, too";
  return text;
}

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
                      "in ONNX Runtime without optimizations; unless told, 1, or twice what "
                      "rounding alone does")
          ->check(number_from_zero),
      command
          .add_option("--most-steps-optimized", options.most_steps_optimized,
                      "The same for ONNX Runtime with optimizations, whose kernels round "
                      "differently; as many as the float model unless told")
          ->check(number_from_zero),
      command.add_flag("--without-runtime", options.without_runtime,
                       "Do without ONNX Runtime: compare the file with its simulation only"),
      command.add_flag("--allow-useless", options.allow_useless,
                       "Exit code 0 although the quantized answers are useless"),
      command.add_flag("--force", options.force,
                       "Overwrite a certificate of another file, or one made with other data")};
}

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
  SPARSEBIT_CHECK(same, InvalidArgument, path, ": it is the certificate of another file",
                  old->at("name").empty() ? "" : ", " + old->at("name"), "; ", kHowToWrite);
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

void write_certificate(const exports::Certificate& certificate, const std::string& file,
                       bool replaced, const CertificationOptions& options) {
  const std::string path = certificate_file(file, options);
  check_certificate_file(file, replaced, options);
  const auto old = facts_of_certificate(path);
  SPARSEBIT_CHECK(
      options.force || replaced || !old || old->at("data") == certificate.sha256.at("data"),
      InvalidArgument, path, ": it is a certificate made with other data, and was kept; ",
      kHowToWrite);
  auto json = nlohmann::ordered_json::parse(exports::to_json(certificate));
  json["file"] = name_of(file);
  write_file_atomically(path, json.dump(2) + "\n");
}

void check_passed(const exports::Certificate& certificate, const CertificationOptions& options) {
  using exports::Verdict;
  for (const exports::Comparison& comparison : certificate.comparisons) {
    if (!comparison.passed) throw Error(ErrorKind::InvalidModel, failure(certificate, comparison));
  }
  if (certificate.verdict() == Verdict::Incomplete) {
    const auto missing =
        std::find_if(certificate.comparisons.begin(), certificate.comparisons.end(),
                     [](const auto& comparison) { return !comparison.missing.empty(); });
    const std::string why =
        missing == certificate.comparisons.end() ? "nothing was judged" : missing->missing;
    throw Error(ErrorKind::InvalidModel,
                "the certificate is incomplete: " + why + " (--without-runtime does without it)");
  }
  const bool useless =
      certificate.quality && certificate.quality->level == exports::QualityLevel::Useless;
  SPARSEBIT_CHECK(options.allow_useless || !useless, InvalidModel,
                  "the quantized file computes what it should, but its answers are useless: ",
                  fmt::format("{:.1f} dB", certificate.quality->snr),
                  " to the float model (--allow-useless accepts it; `sparsebit analyze` shows the "
                  "layers that lose most)");
}

}  // namespace sparsebit::cli
