#pragma once

#include "easy/common_options.h"
#include "easy/prepared_data.h"

#include "sparsebit/core/output_set.h"
#include "sparsebit/export/certificate.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// How a file is certified; named like the options of the command.
struct CertificationOptions {
  std::string output = {};  ///< the certificate; empty: beside the quantized file
  std::optional<double> most_steps = {}, most_steps_optimized = {};  ///< see CertifyOptions
  int64_t samples = 0;                                               ///< 0 = all
  bool without_runtime = false;                                      ///< see CertifyOptions
  bool allow_useless = false;  ///< useless quality is not an error
  bool force = false;          ///< overwrite the certificate of another file or of other data
  bool json = false;           ///< hides the progress bar
  CommonOptions common = {};
};

/// The path of the certificate: --certificate, or beside the quantized file.
std::string certificate_file(const std::string& file, const CertificationOptions& options);

/// Throws InvalidArgument when writing the certificate would overwrite a file that is not a
/// certificate, or the certificate of another file. Called before the slow work starts.
/// @param replaced  the command writes the quantized file itself: then the same name is the same
///                  file, otherwise the same content.
void check_certificate_file(const std::string& file, bool replaced,
                            const CertificationOptions& options);

/// Certifies a quantized ONNX file.
/// @param original    the float model as written on the command line, or empty.
/// @param config      the YAML that the file was quantized with, or empty.
/// @param simulation  the expected results; null: the file run by the interpreter.
exports::Certificate certify_file(const std::string& file, const std::string& original,
                                  const std::string& config, quant::QuantModel* simulation,
                                  const PreparedData& data, const CertificationOptions& options);

/// A certificate beside `file` that is about a file of this name goes when `outputs` are committed,
/// because it certifies the file that they replace. Returns the logged warning; empty if there is
/// no such certificate.
std::string remove_old_certificate(const std::string& file, OutputSet& outputs);

/// Throws InvalidArgument, without --force, when there is a certificate of the same file that was
/// made with other data.
void check_same_data(const exports::Certificate& certificate, const std::string& file,
                     const CertificationOptions& options);

/// Writes the certificate of `file` to `path`.
void write_certificate(const exports::Certificate& certificate, const std::string& file,
                       const std::string& path);

/// Why the certificate failed or is incomplete, or that the quality is useless; empty when all is
/// well.
std::string problem_of(const exports::Certificate& certificate,
                       const CertificationOptions& options);

/// Throws InvalidModel with that problem, if there is one.
void check_passed(const exports::Certificate& certificate, const CertificationOptions& options);

}  // namespace sparsebit::easy
