#pragma once

#include "cli/easy_names.h"
#include "easy/certification.h"

#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sparsebit::cli {

/// Declares --certificate, --most-steps, --most-steps-optimized, --without-runtime,
/// --allow-useless and --force; returns them.
std::vector<CLI::Option*> add_certification_options(CLI::App& command,
                                                    CertificationOptions& options);

}  // namespace sparsebit::cli
