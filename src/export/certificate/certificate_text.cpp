#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/export/certificate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sparsebit::exports {
namespace {

using nlohmann::ordered_json;

/// One line per comparison, with the largest difference of its outputs.
std::string line_of(const Comparison& comparison, size_t width) {
  if (!comparison.missing.empty())
    return fmt::format("  {:<{}}  not compared: {}\n", to_string(comparison.runner), width,
                       printable(comparison.missing, kMostOfMessage));
  double most = 0, largest = 0, relative = 0;
  std::string answers;
  for (const OutputDifference& output : comparison.outputs) {
    most = std::max(most, output.of_most);
    largest = std::max(largest, output.largest);
    relative = std::max(relative, output.relative);
    if (output.answer && answers.empty()) answers = fmt::format("{:.1f} %", 100 * *output.answer);
  }
  return fmt::format("  {:<{}}  {:>9.3g}  {:>9.3g}  {:>9.2g}  {:>11}{}\n",
                     to_string(comparison.runner), width, most, largest, relative,
                     answers.empty() ? "-" : answers, comparison.passed ? "" : "  above the limit");
}

ordered_json number_or_null(double number) {
  return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
}

ordered_json described(const Comparison& comparison) {
  ordered_json json = {{"runner", to_string(comparison.runner)}};
  if (!comparison.missing.empty()) {
    json["missing"] = comparison.missing;
    return json;
  }
  if (comparison.limit) {
    json["passed"] = comparison.passed;
    json["limit"] = *comparison.limit;
  }
  for (const OutputDifference& output : comparison.outputs) {
    ordered_json entry = {{"output", output.output},           {"step", output.step},
                          {"steps_99.9", output.of_most},      {"steps_largest", output.largest},
                          {"within_step", output.within_step}, {"relative", output.relative}};
    entry["snr_db"] = number_or_null(output.snr);
    if (output.answer) entry["same_top1"] = *output.answer;
    json["outputs"].push_back(std::move(entry));
  }
  return json;
}

ordered_json described(const Quartiles& q) {
  return {{"minimum", q.minimum},
          {"lower_quartile", q.lower},
          {"median", q.median},
          {"upper_quartile", q.upper}};
}

ordered_json described(const MeasuredTime& time) {
  return {{"wall_ms", described(time.wall)}, {"cpu_ms", described(time.cpu)}};
}

ordered_json described(const MeasuredSpeed& speed, const std::string& processor) {
  return {{"float_ms", speed.original.wall.minimum},
          {"quantized_ms", speed.quantized.wall.minimum},
          {"ratio", speed.ratio()},
          {"median_ratio", speed.median_ratio()},
          {"cpu_ratio", number_or_null(speed.cpu_ratio())},
          {"stable", speed.is_stable()},
          {"rounds", speed.rounds},
          {"float", described(speed.original)},
          {"quantized", described(speed.quantized)},
          {"threads", 1},
          {"processor", processor}};
}

/// "27.3 dB SNR against the float model, same top-1 for 93.8 %"
std::string numbers_of(const Quality& quality) {
  std::string text = fmt::format("{:.1f} dB SNR against the float model", quality.snr);  // or inf
  if (!quality.same_top1) return text;
  text += fmt::format(", same top-1 for {:.1f} %", 100 * *quality.same_top1);
  return text + (quality.top1_is_judged ? "" : ", too few samples to judge top-1");
}

std::string quality_line(const Certificate& certificate) {
  if (!certificate.quality)
    return certificate.selects_boxes ? "  quality: not judged: outputs are boxes selected by NMS; "
                                       "`sparsebit eval` measures mAP\n"
                                     : "";
  const Quality& quality = *certificate.quality;
  std::string text =
      fmt::format("  quality: {} ({})\n", to_string(quality.level), numbers_of(quality));
  if (quality.level != QualityLevel::Good)
    text +=
        "  note: some layers have too few bits, or the samples are unlike the model's real inputs; "
        "`sparsebit analyze` shows the layers\n";
  return text;
}

std::string speed_lines(const Certificate& certificate) {
  if (!certificate.speed) return "";
  const MeasuredSpeed& speed = *certificate.speed;
  std::string text = fmt::format(
      "  speed in ONNX Runtime {}: {:.2f} -> {:.2f} ms, {:.2f} times as fast (fastest of {} runs, "
      "1 thread, {})\n",
      certificate.onnxruntime, speed.original.wall.minimum, speed.quantized.wall.minimum,
      speed.ratio(), speed.rounds, certificate.processor);
  if (!speed.is_stable())
    return text + fmt::format(
                      "  note: unstable machine: {:.2f} times by medians, {:.2f} by CPU time; "
                      "measure again when it is idle\n",
                      speed.median_ratio(), speed.cpu_ratio());
  constexpr double kNoise = 0.97;  // two measurements of one file differ by as much
  if (speed.ratio() < kNoise) text += "  note: slower than the float model on this processor\n";
  return text;
}

std::string rounding_line(const Certificate& certificate) {
  if (!certificate.rounding) return "";
  return fmt::format(
      "  float rounding alone moves the outputs by {:.3g} steps (measured by changing the last bit "
      "of floats)\n",
      *certificate.rounding);
}

std::string headline(const Certificate& certificate) {
  switch (certificate.verdict()) {
    case Verdict::Passed:
      return certificate.without_runtime ? "passed without ONNX Runtime" : "passed";
    case Verdict::Failed:
      return "FAILED";
    case Verdict::Incomplete:
      return "INCOMPLETE";
  }
  return "";
}

}  // namespace

std::string to_string(Runner runner) {
  switch (runner) {
    case Runner::ReadAgain:
      return "file, read again";
    case Runner::NotOptimized:
      return "ONNX Runtime, not optimized";
    case Runner::Optimized:
      return "ONNX Runtime, optimized";
    case Runner::FloatModel:
      return "float model";
  }
  return "";
}

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Passed:
      return "passed";
    case Verdict::Failed:
      return "failed";
    case Verdict::Incomplete:
      return "incomplete";
  }
  return "";
}

std::string to_text(const Certificate& certificate) {
  size_t width = 0;
  for (const Comparison& comparison : certificate.comparisons)
    width = std::max(width, to_string(comparison.runner).size());
  std::string text =
      fmt::format("certificate: {} ({} {}; differences from the {}, in quantization steps)\n",
                  headline(certificate), certificate.samples,
                  certificate.samples == 1 ? "sample" : "samples", certificate.expected);
  text += fmt::format("  {:<{}}  {:>9}  {:>9}  {:>9}  {:>11}\n", "", width, "99.9 %", "largest",
                      "relative", "same top-1");
  for (const Comparison& comparison : certificate.comparisons) text += line_of(comparison, width);
  if (!certificate.is_quantized)
    text += "  note: the file has no quantized nodes: it is a float model\n";
  return text + rounding_line(certificate) + quality_line(certificate) + speed_lines(certificate);
}

std::string to_json(const Certificate& certificate) {
  ordered_json json = {{"verdict", to_string(certificate.verdict())},
                       {"passed", certificate.passed()},
                       {"quantized", certificate.is_quantized},
                       {"selects_boxes", certificate.selects_boxes},
                       {"samples", certificate.samples},
                       {"expected", certificate.expected}};
  for (const Comparison& comparison : certificate.comparisons)
    json["comparisons"].push_back(described(comparison));
  if (certificate.rounding) json["rounding_steps"] = *certificate.rounding;
  if (const auto& quality = certificate.quality) {
    json["quality"] = {{"level", to_string(quality->level)},
                       {"snr_db", number_or_null(quality->snr)}};
    if (quality->same_top1) json["quality"]["same_top1"] = *quality->same_top1;
    json["quality"]["top1_is_judged"] = quality->top1_is_judged;
  }
  if (certificate.speed) json["speed"] = described(*certificate.speed, certificate.processor);
  if (!certificate.onnxruntime.empty()) json["onnxruntime"] = certificate.onnxruntime;
  json["processor"] = certificate.processor;
  json["sha256"] = certificate.sha256;
  return json_text(json);
}

}  // namespace sparsebit::exports
