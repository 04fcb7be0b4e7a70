#pragma once

#include "cli/common_options.h"
#include "cli/data_options.h"
#include "easy/calibration.h"

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Declares the model, -c, --platform, --custom, --exclude, the data options, --random-data,
/// --requantize, --sequential, --json and the common options.
void add_calibration_options(CLI::App& command, CalibrationOptions& options);

}  // namespace sparsebit::cli
