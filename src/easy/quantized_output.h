#pragma once

#include "easy/calibration.h"
#include "easy/certification.h"

#include "sparsebit/core/output_set.h"
#include "sparsebit/export/certificate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// The file of a quantized model; named like the options of the command.
struct OutputOptions {
  std::string output;  ///< FILE.onnx with integers, or any other name for the simulation
  int64_t opset = 0;   ///< 0: 17, or 21 for more than 8 bits
  std::string format = "qdq";
  bool extra_info = false;
  bool external_data = false;
  bool measured = false;  ///< int8 or float nodes were chosen by measuring: recorded in the file
  bool certify = false;
  CertificationOptions certification = {.samples = 32};
};

/// Whether the output is ONNX; other files store the simulation.
bool is_onnx(const std::string& file);

/// Called before the slow work starts: throws InvalidArgument when options do not go together or
/// with the platform, and Io when a file cannot be written.
/// @param decisions  another file that is written, or empty.
void check_output(const OutputOptions& options, const CalibrationOptions& asked,
                  const platforms::Platform& platform, const std::string& decisions = {});

/// Throws Unsupported when the file is to be certified and the model has unknown operators.
void check_runs(const OutputOptions& options, const LoadedModel& model);

/// What was written.
struct WrittenOutput {
  uintmax_t bytes_before = 0;  ///< 0: the model is not a file
  uintmax_t bytes = 0;
  std::optional<exports::Certificate> certificate = {};
  std::vector<std::string> warnings = {};
};

/// Writes the file and, if asked for, its certificate. Quantization of the model has to be on; the
/// files appear with `outputs.commit()`.
WrittenOutput write_quantized(quant::QuantModel& model, const CalibrationOptions& asked,
                              const PreparedData& data, const OutputOptions& options,
                              OutputSet& outputs);

}  // namespace sparsebit::easy
