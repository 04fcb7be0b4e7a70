#pragma once

#include "cli/model_source.h"
#include "sparsebit/export/onnx.h"

#include <string>
#include <vector>

namespace sparsebit::cli {

/// What one --dynamic says: a size of an input stays open.
struct DynamicAxis {
  std::string text;  ///< as the user wrote it
  std::string input;
  int64_t dim = 0;
  std::string symbol;
};

/// Reads `NAME:0=batch`, each; the name may contain ':' and '='. Throws UsageError.
std::vector<DynamicAxis> parse_dynamic(const std::vector<std::string>& texts);

/// Throws InvalidArgument for inputs and dimensions that the model does not have, and for a symbol
/// that stands for two sizes.
void check_dynamic(const std::vector<DynamicAxis>& axes, const LoadedModel& model);

/// export_onnx() with the sizes left open. When the model takes one size only where a symbol is,
/// the error says which symbol and why.
void export_with_dynamic(const LoadedModel& model, const std::vector<DynamicAxis>& axes,
                         const std::string& path, const exports::OnnxExportOptions& options);

}  // namespace sparsebit::cli
