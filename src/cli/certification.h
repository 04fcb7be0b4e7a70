#pragma once

#include "cli/common_options.h"
#include "cli/data_options.h"

#include "sparsebit/export/certificate.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sparsebit::cli {

/// What commands that certify a file let a user say.
struct CertificationOptions {
  std::string output = {};  ///< of the certificate; empty: beside the quantized file
  std::optional<double> most_steps = {}, most_steps_optimized = {};  ///< as CertifyOptions
  int64_t samples = 0;                                               ///< 0 = all of the data
  bool json = false;  ///< progress would be in the way
  CommonOptions common = {};
};

/// Declares --certificate, --most-steps and --most-steps-optimized; returns them.
std::vector<CLI::Option*> add_certification_options(CLI::App& command,
                                                    CertificationOptions& options);

/// The certificate's own file.
std::string certificate_file(const std::string& file, const CertificationOptions& options);

/// Certifies a quantized ONNX file and writes the certificate.
/// @param original    the float model as a user writes it, or empty.
/// @param config      the YAML that the file was quantized with, or empty.
/// @param simulation  null: the file itself is what is expected.
exports::Certificate certify_file(const std::string& file, const std::string& original,
                                  const std::string& config, quant::QuantModel* simulation,
                                  const PreparedData& data, const CertificationOptions& options);

/// Throws InvalidModel, saying what is too far, unless it passed.
void check_passed(const exports::Certificate& certificate);

}  // namespace sparsebit::cli
