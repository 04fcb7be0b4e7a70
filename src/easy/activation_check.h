#pragma once

#include "easy/prepared_data.h"

#include "sparsebit/quant/quant_model.h"

#include <string>
#include <vector>

namespace sparsebit::easy {

/// Runs a few samples through a calibrated model in float. Returns warnings about layers with a
/// constant output, and about model outputs that are the same for all samples or not finite.
std::vector<std::string> activation_warnings(quant::QuantModel& model, const PreparedData& data);

}  // namespace sparsebit::easy
