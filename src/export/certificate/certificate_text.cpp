#include "sparsebit/export/certificate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sparsebit::exports {
namespace {

using nlohmann::ordered_json;

/// Of the worst of its outputs.
std::string line_of(const Comparison& comparison, size_t width) {
  if (!comparison.missing.empty())
    return fmt::format("  {:<{}}  not compared: {}\n", to_string(comparison.runner), width,
                       comparison.missing);
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
                     answers.empty() ? "-" : answers, comparison.passed ? "" : "  too far");
}

ordered_json described(const Comparison& comparison) {
  ordered_json json = {{"way", to_string(comparison.runner)}};
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
    if (output.answer) entry["same_top1"] = *output.answer;
    json["outputs"].push_back(std::move(entry));
  }
  return json;
}

/// What a passed certificate does not say: whether the result is any good.
std::string notes_of(const Certificate& certificate) {
  constexpr double kFewAnswers = 0.8, kFar = 0.5;
  std::string text;
  if (certificate.speed && certificate.speed->ratio() < 1)
    text += "  note: it is slower than the float model on this processor\n";
  const Comparison* original = certificate.find(Runner::FloatModel);
  if (!original) return text;
  for (const OutputDifference& output : original->outputs) {
    if (output.answer.value_or(1) >= kFewAnswers && output.relative <= kFar) continue;
    return text +
           "  note: the float model gives other results; if it is what was quantized, 8 bits "
           "are too few somewhere (see `sparsebit analyze`)\n";
  }
  return text;
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

std::string to_text(const Certificate& certificate) {
  size_t width = 0;
  for (const Comparison& comparison : certificate.comparisons)
    width = std::max(width, to_string(comparison.runner).size());
  std::string text = fmt::format(
      "certificate: {} ({} samples; differences from the {}, in steps of the output)\n",
      certificate.passed() ? "passed" : "FAILED", certificate.samples, certificate.expected);
  text += fmt::format("  {:<{}}  {:>9}  {:>9}  {:>9}  {:>11}\n", "", width, "of 99.9 %", "largest",
                      "relative", "same answer");
  for (const Comparison& comparison : certificate.comparisons) text += line_of(comparison, width);
  text += notes_of(certificate);
  if (const auto& speed = certificate.speed)
    text += fmt::format(
        "  speed in ONNX Runtime {}: {:.2f} -> {:.2f} ms, {:.2f} times as fast (1 thread, {})\n",
        certificate.onnxruntime, speed->original, speed->quantized, speed->ratio(),
        certificate.processor);
  return text;
}

std::string to_json(const Certificate& certificate) {
  ordered_json json = {{"passed", certificate.passed()},
                       {"samples", certificate.samples},
                       {"expected", certificate.expected}};
  for (const Comparison& comparison : certificate.comparisons)
    json["comparisons"].push_back(described(comparison));
  if (const auto& speed = certificate.speed)
    json["speed"] = {{"float_ms", speed->original},
                     {"quantized_ms", speed->quantized},
                     {"ratio", speed->ratio()},
                     {"threads", 1},
                     {"processor", certificate.processor}};
  if (!certificate.onnxruntime.empty()) json["onnxruntime"] = certificate.onnxruntime;
  json["sha256"] = certificate.sha256;
  return json.dump(2) + "\n";
}

}  // namespace sparsebit::exports
