#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <vector>

namespace sparsebit::cli {

/// Nodes whose operator or module is unknown, so that they cannot be executed, as
/// `name (target)`.
std::vector<std::string> unknown_nodes(const fx::GraphModule& module);

/// Weights of one element type.
struct WeightCount {
  std::string dtype;
  int64_t count = 0, bytes = 0;
};
/// Weights by type, most first: parameters, and the integers of quantized layers; not the scales
/// and zero points of those. A tensor that has two names counts once.
std::vector<WeightCount> count_weights(const fx::GraphModule& module);
int64_t count_parameters(const fx::GraphModule& module);

/// "11.69 M"; small numbers as they are.
std::string in_millions(int64_t count);

/// Columns of left-aligned cells, two spaces apart, a rule under the first row.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// The names, at most `most` of them, then how many more there are.
std::string short_list(const std::vector<std::string>& names, size_t most = 8);

}  // namespace sparsebit::cli
