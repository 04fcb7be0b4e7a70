#include "easy/quantized_output.h"

#include "easy/model_summary.h"
#include "easy/output_files.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/io/onnx_file.h"

#include <nlohmann/json.hpp>

#include <malloc.h>

#include <algorithm>
#include <filesystem>

namespace sparsebit::easy {

bool is_onnx(const std::string& file) {
  return lower_case(std::filesystem::path(file).extension().string()) == ".onnx";
}

void check_output(const OutputOptions& options, const CalibrationOptions& asked,
                  const platforms::Platform& platform, const std::string& decisions) {
  const bool onnx = is_onnx(options.output), operators = options.format != "qdq";
  SPARSEBIT_CHECK(onnx || !options.certify, InvalidArgument,
                  "--certify is for ONNX files: `-o FILE.onnx`");
  SPARSEBIT_CHECK(onnx || (!operators && !options.extra_info && !options.external_data),
                  InvalidArgument,
                  "--format, --extra-info and --external-data are for ONNX files: `-o FILE.onnx`");
  SPARSEBIT_CHECK(!options.extra_info || (!options.certify && !operators), InvalidArgument,
                  "--extra-info excludes --certify and --format qoperator: ONNX Runtime refuses "
                  "such files");
  SPARSEBIT_CHECK(!operators || platform.integer_operators, InvalidArgument,
                  "--format qoperator: ", platform.name,
                  " has no integer operators; onnxruntime does");
  check_output_files(
      {options.output, options.external_data ? options.output + ".data" : "", decisions,
       options.certify ? certificate_file(options.output, options.certification) : ""},
      {asked.model, asked.config, asked.data.data, asked.data.labels});
  if (options.certify)
    check_certificate_file(options.output, /*replaced=*/true, options.certification);
}

void check_runs(const OutputOptions& options, const LoadedModel& model) {
  if (!options.certify) return;
  const std::vector<std::string> unknown = unknown_nodes(*model.module);
  SPARSEBIT_CHECK(unknown.empty(), Unsupported, model.name,
                  ": --certify runs the model, which has unknown operators: ", short_list(unknown));
}

namespace {

/// QuantizeLinear has 16-bit integers only from opset 21 on.
int64_t opset_for(const quant::QuantModel& model) {
  const auto& points = model.points();
  const bool wide = std::any_of(points.begin(), points.end(), [](const quant::QuantPoint& point) {
    return !point.is_bias() && point.quantizer->spec().bits > 8;
  });
  return wide ? 21 : 17;
}

/// The origin stored in the file, as JSON; without paths, which mean nothing on other machines.
std::string origin_of(const CalibrationOptions& asked, const quant::QuantModel& model,
                      const PreparedData& data, bool measured) {
  nlohmann::ordered_json json;
  json["config"] = chosen_config(asked).text;
  json["preprocess"] = data.preprocess().describe();
  if (const std::string& guessed = data.prepared_feed().guessed_from; !guessed.empty())
    json["preprocess_guessed_from"] = guessed;
  if (has_random_ranges(model, data)) json["not_for_deployment"] = kNotForDeployment;
  json["samples"] = data.size();
  if (!data.has_all()) json["seed"] = asked.common.seed;
  json["sequential"] = asked.sequential;
  if (measured) json["float_where_faster"] = model.config().schedule.float_where_faster;
  // A pattern of --exclude may be any bytes.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void write_model(const quant::QuantModel& model, const std::string& staged,
                 const std::string& origin, const OutputOptions& options) {
  if (!is_onnx(options.output)) return exports::save_quantized(model, staged, origin);
  using Form = exports::QuantizedOnnxOptions::Form;
  exports::export_onnx(
      model, staged,
      {.opset = options.opset > 0 ? options.opset : opset_for(model),
       .save = {.largest_file = options.external_data ? 0 : io::kLargestOnnxFile},
       .quantized = {.form = options.format == "qdq" ? Form::Pairs : Form::Operators,
                     .bits_attribute = options.extra_info},
       .metadata = {{"sparsebit.origin", origin}}});
}

/// Messages name the target.
exports::Certificate certify_staged(const std::string& staged, const CalibrationOptions& asked,
                                    quant::QuantModel& model, const PreparedData& data,
                                    const CertificationOptions& options) {
  try {
    exports::Certificate certificate =
        certify_file(staged, asked.model, chosen_config(asked).text, &model, data, options);
    for (exports::Comparison& comparison : certificate.comparisons)
      comparison.missing = with_target_paths(comparison.missing);
    return certificate;
  } catch (const Error& error) {
    const ErrorDetails& details = error.details();
    Error shown(error.kind(), {.what = with_target_paths(details.what),
                               .expected = with_target_paths(details.expected),
                               .found = with_target_paths(details.found),
                               .where = with_target_paths(details.where)});
    for (const std::string& frame : error.context()) shown.add_context(with_target_paths(frame));
    throw shown;
  }
}

}  // namespace

WrittenOutput write_quantized(quant::QuantModel& model, const CalibrationOptions& asked,
                              const PreparedData& data, const OutputOptions& options,
                              OutputSet& outputs) {
  malloc_trim(0);  // what calibration needed; the export holds every weight twice
  WrittenOutput written;
  const std::string staged = outputs.stage(options.output).string();
  write_model(model, staged, origin_of(asked, model, data, options.measured), options);
  if (std::filesystem::is_regular_file(asked.model))
    written.bytes_before = io::bytes_of_model(asked.model);
  written.bytes = io::bytes_of_model(staged);
  if (options.certify) {
    written.certificate = certify_staged(staged, asked, model, data, options.certification);
    const std::string certificate = certificate_file(options.output, options.certification);
    outputs.remove_at_commit(certificate);  // never beside a model that it is not about
    write_certificate(*written.certificate, options.output, outputs.stage(certificate).string());
  } else if (const std::string warning = remove_old_certificate(options.output, outputs);
             !warning.empty()) {
    written.warnings.push_back(warning);
  }
  return written;
}

}  // namespace sparsebit::easy
