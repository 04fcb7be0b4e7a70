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
  bool without_runtime = false;                                      ///< as CertifyOptions
  bool allow_useless = false;  ///< useless quality is no error
  bool force = false;          ///< overwrite the certificate of another file or of other data
  bool json = false;           ///< progress would be in the way
  CommonOptions common = {};
};

/// Declares --certificate, --most-steps, --most-steps-optimized, --without-runtime,
/// --allow-useless and --force; returns them.
std::vector<CLI::Option*> add_certification_options(CLI::App& command,
                                                    CertificationOptions& options);

/// The certificate's own file.
std::string certificate_file(const std::string& file, const CertificationOptions& options);

/// Before anybody waits: throws InvalidArgument when the certificate would overwrite something else
/// than a certificate, or that of another file. What is certified counts as the same file if it
/// is named so in a command that writes it (`replaced`), and by its content otherwise.
void check_certificate_file(const std::string& file, bool replaced,
                            const CertificationOptions& options);

/// Certifies a quantized ONNX file.
/// @param original    the float model as a user writes it, or empty.
/// @param config      the YAML that the file was quantized with, or empty.
/// @param simulation  null: the file itself is what is expected.
exports::Certificate certify_file(const std::string& file, const std::string& original,
                                  const std::string& config, quant::QuantModel* simulation,
                                  const PreparedData& data, const CertificationOptions& options);

/// Whether the certificate beside a file is about a file of this name.
bool is_certificate_of(const std::string& file);

/// Throws InvalidArgument, without --force, when there is a certificate of the same file that was
/// made with other data.
void check_same_data(const exports::Certificate& certificate, const std::string& file,
                     const CertificationOptions& options);

/// Writes the certificate of `file` to `path`.
void write_certificate(const exports::Certificate& certificate, const std::string& file,
                       const std::string& path);

/// Throws InvalidModel, saying what is too far, missing or useless, unless all is well.
void check_passed(const exports::Certificate& certificate, const CertificationOptions& options);

}  // namespace sparsebit::cli
