#pragma once

#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>

namespace sparsebit::report {

/// A decision as text: "its input 'conv1' is float".
std::string sentence(const quant::Decision& decision, const platforms::Platform& platform);

/// The same without names, to count equal reasons: "its input is float".
std::string summary_of(const quant::Decision& decision, const platforms::Platform& platform);

}  // namespace sparsebit::report
