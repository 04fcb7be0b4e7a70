#pragma once

#include "cli/easy_names.h"
#include "easy/model_source.h"
#include "sparsebit/export/onnx.h"

#include <string>
#include <vector>

namespace sparsebit::cli {

/// One --dynamic option: a dynamic dimension of an input.
struct DynamicAxis {
  std::string text;  ///< as the user wrote it
  std::string input;
  int64_t dim = 0;
  std::string symbol;
};

/// Parses options of the form `NAME:0=batch`; the name may contain ':' and '='. Throws UsageError.
std::vector<DynamicAxis> parse_dynamic(const std::vector<std::string>& texts);

/// Throws InvalidArgument for inputs and dimensions that the model does not have, and for a symbol
/// with two different sizes.
void check_dynamic(const std::vector<DynamicAxis>& axes, const LoadedModel& model);

/// export_onnx() with dynamic dimensions. When the model works with one size only, the error names
/// the symbol and the reason.
void export_with_dynamic(const LoadedModel& model, const std::vector<DynamicAxis>& axes,
                         const std::string& path, const exports::OnnxExportOptions& options);

}  // namespace sparsebit::cli
