#include "sparsebit/easy/easy.h"

#include "easy/error_text.h"
#include "easy/quantized_output.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/report/coverage.h"
#include "sparsebit/report/sentences.h"

#include <ATen/Parallel.h>

#include <exception>

namespace sparsebit::easy {
namespace {

/// libtorch has one number of threads for the whole process.
class Threads {
 public:
  explicit Threads(int threads) : before_(at::get_num_threads()) {
    if (threads > 0) at::set_num_threads(threads);
  }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

CalibrationOptions calibration_of(const std::string& model, const std::string& data,
                                  const QuantizeFileOptions& options) {
  return {.model = model,
          .config = options.config,
          .platform = options.platform,
          .exclude = options.exclude,
          .data = {.data = data,
                   .labels = {},
                   .preprocess = options.preprocess,
                   .tokenizer = options.tokenizer,
                   .fixed = options.inputs,
                   .shapes = options.shapes,
                   .samples = options.samples,
                   .random = data.empty()},
          .requantize = options.requantize,
          .sequential = options.sequential,
          .common = {.seed = options.seed, .quiet = true, .on_progress = options.on_progress}};
}

void check_numbers(const QuantizeFileOptions& options) {
  SPARSEBIT_CHECK(options.samples >= 0 && options.certify_samples >= 0 && options.threads >= 0,
                  InvalidArgument,
                  "quantize_file(): samples, certify_samples and threads must not be negative; "
                  "found ",
                  options.samples, ", ", options.certify_samples, " and ", options.threads);
}

std::vector<FloatNode> float_nodes_of(const report::Coverage& coverage,
                                      const platforms::Platform& platform) {
  std::vector<FloatNode> nodes;
  for (const report::NodeCoverage* node : coverage.floats())
    nodes.push_back(
        {node->shown, node->op, report::sentence(*node->why_float, platform), node->macs});
  return nodes;
}

CertificateSummary summary_of(const exports::Certificate& certificate,
                              const OutputOptions& options) {
  CertificateSummary summary{.verdict = to_string(certificate.verdict()),
                             .problem = problem_of(certificate, options.certification),
                             .file = certificate_file(options.output, options.certification)};
  if (certificate.quality) {
    summary.quality = to_string(certificate.quality->level);
    summary.snr = certificate.quality->snr;
    summary.same_top1 = certificate.quality->same_top1;
  }
  if (certificate.speed) summary.speedup = certificate.speed->ratio();
  return summary;
}

QuantizedFile quantized(const CalibrationOptions& asked, const OutputOptions& options) {
  check_output(options, asked, *chosen_config(asked).config.platform);
  ModelWithData given = load_with_data(asked);
  check_runs(options, given.model);
  const auto model = calibrated_model(asked, given);
  model->set_quant({.weights = true, .activations = true});
  const report::Coverage coverage = report::coverage_of(*model);
  OutputSet outputs;
  WrittenOutput written = write_quantized(*model, asked, given.data, options, outputs);
  outputs.commit();
  QuantizedFile result{.file = options.output,
                       .bytes_before = written.bytes_before,
                       .bytes = written.bytes,
                       .platform = model->platform().name,
                       .samples = given.data.size(),
                       .random_data = has_random_ranges(*model, given.data),
                       .preprocess = given.data.preprocess_text(),
                       .preprocess_guessed = !given.data.prepared_feed().guessed_from.empty(),
                       .int8_macs = coverage.share_of_macs(),
                       .int8_nodes = coverage.share_of_nodes(),
                       .float_nodes = float_nodes_of(coverage, model->platform()),
                       .warnings = std::move(given.warnings)};
  for (const auto& more : {model->unused_patterns(), written.warnings})
    result.warnings.insert(result.warnings.end(), more.begin(), more.end());
  if (written.certificate) result.certificate = summary_of(*written.certificate, options);
  return result;
}

}  // namespace

QuantizedFile quantize_file(const std::string& model, const std::string& data,
                            const std::string& output, const QuantizeFileOptions& options) {
  check_numbers(options);
  std::exception_ptr stopped;  // by on_progress
  CalibrationOptions asked = calibration_of(model, data, options);
  if (options.on_progress) {
    asked.common.on_progress = [&](const std::string& step, int64_t done, int64_t total) {
      try {
        options.on_progress(step, done, total);
      } catch (...) {
        stopped = std::current_exception();
        throw;
      }
    };
  }
  const OutputOptions written{.output = output,
                              .certify = options.certify,
                              .certification = {.output = options.certificate,
                                                .samples = options.certify_samples,
                                                .force = options.force,
                                                .common = asked.common}};
  const Threads threads(options.threads);
  try {
    return quantized(asked, written);
  } catch (const std::exception& error) {
    if (stopped) std::rethrow_exception(stopped);
    if (dynamic_cast<const Error*>(&error)) throw;
    throw Error(kind_of(error), error_text(error));
  }
}

}  // namespace sparsebit::easy
