#pragma once

#include "sparsebit/platforms/platform.h"

namespace sparsebit::quant {

/// Throws InvalidArgument, with near names, for operators, arguments and schemes that a platform's
/// description names and that do not exist.
void check_platform(const platforms::Platform& platform);

}  // namespace sparsebit::quant
