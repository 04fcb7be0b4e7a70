#include "cli/certification_options.h"

#include "cli/common_options.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

#include <cmath>

namespace sparsebit::cli {

std::vector<CLI::Option*> add_certification_options(CLI::App& command,
                                                    CertificationOptions& options) {
  const auto number_from_zero = [](const std::string& text) -> std::string {
    double number = -1;
    const bool is_number = CLI::detail::lexical_cast(text, number) && std::isfinite(number);
    return is_number && number >= 0 ? "" : "'" + text + "' is not a number of at least 0";
  };
  return {
      command
          .add_option(
              "--certificate", options.output,
              "Certificate file (JSON) to write. Default: NAME.certificate.json beside the file")
          ->type_name(value_kind::kFile)
          ->check(not_empty),
      command
          .add_option("--most-steps", options.most_steps,
                      "Limit in quantization steps for 99.9 % of the output values, without ONNX "
                      "Runtime's optimizations. Default: 1, or twice the float rounding error")
          ->check(number_from_zero),
      command
          .add_option(
              "--most-steps-optimized", options.most_steps_optimized,
              "The same limit with ONNX Runtime's optimizations. Default: the difference of "
              "the float model, 1 to 32")
          ->check(number_from_zero),
      command.add_flag("--without-runtime", options.without_runtime,
                       "Skip ONNX Runtime: compare the file with its simulation only"),
      command.add_flag("--allow-useless", options.allow_useless,
                       "Exit with code 0 even if the quality is useless"),
      command.add_flag("--force", options.force,
                       "Overwrite a certificate of another file or of other data")};
}

}  // namespace sparsebit::cli
