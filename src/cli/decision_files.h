#pragma once

#include "sparsebit/quant/quant_model.h"
#include "sparsebit/report/coverage.h"

#include <string>

namespace sparsebit::cli {

/// For --strict: throws InvalidArgument, listing all, where patterns match nothing, operators are
/// unknown, or nodes with MACs stay float.
void check_strictly(const quant::QuantModel& model, const report::Coverage& coverage);

/// What was decided about each node: JSON if the file is called so, else text.
void write_decisions(const std::string& file, const quant::QuantModel& model);

}  // namespace sparsebit::cli
