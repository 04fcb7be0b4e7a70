#pragma once

namespace sparsebit::easy {}

namespace sparsebit::cli {
/// The steps of commands (models, data, calibration, certificates) are those of programs.
using namespace easy;
}  // namespace sparsebit::cli
