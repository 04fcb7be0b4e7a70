#pragma once

#include "sparsebit/quant/spec/qconfig.h"

#include <string>

namespace sparsebit::quant {

/// The settings that are good for a backend unless somebody knows better: YAML with comments, to be
/// read by people, saved, changed, and read by parse_qconfig().
std::string default_config(Backend backend);

}  // namespace sparsebit::quant
