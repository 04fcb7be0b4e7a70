#pragma once

#include "sparsebit/quant/quant_model.h"
#include "sparsebit/report/coverage.h"

#include <string>

namespace sparsebit::cli {

/// Checks for --strict: throws InvalidArgument with a list of patterns that match nothing, unknown
/// operators, and nodes with MACs that stay float.
void check_strictly(const quant::QuantModel& model, const report::Coverage& coverage);

/// Writes the decision about each node: JSON if the file name ends in .json, otherwise text.
void write_decisions(const std::string& file, const quant::QuantModel& model);

}  // namespace sparsebit::cli
