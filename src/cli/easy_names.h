#pragma once

namespace sparsebit::easy {}

namespace sparsebit::cli {
/// Commands use the functions of `easy`: models, data, calibration, certificates.
using namespace easy;
}  // namespace sparsebit::cli
