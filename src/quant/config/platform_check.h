#pragma once

#include "sparsebit/platforms/platform.h"

namespace sparsebit::quant {

/// Throws InvalidArgument, suggesting similar names, for operators, arguments and schemes of a
/// platform that do not exist.
void check_platform(const platforms::Platform& platform);

}  // namespace sparsebit::quant
