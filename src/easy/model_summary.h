#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::easy {

/// Nodes that cannot be executed, because their operator or module is unknown, as
/// `name (target: reason)`.
std::vector<std::string> unknown_nodes(const fx::GraphModule& module);

/// Weights of one element type.
struct WeightCount {
  std::string dtype;
  int64_t count = 0, bytes = 0;
};
/// Weights by element type, the most frequent first: parameters, and the integer weights and biases
/// of quantized layers without their scales and zero points. A shared tensor counts once.
std::vector<WeightCount> count_weights(const fx::GraphModule& module);
int64_t count_parameters(const fx::GraphModule& module);

/// "11.69 M"; numbers below 100 000 in full.
std::string in_millions(int64_t count);

/// "13.97 MB"; sizes below 10 000 bytes in full, "662 bytes".
std::string in_megabytes(int64_t bytes);

/// Columns of left-aligned cells, two spaces apart, a rule under the first row.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// At most `most` names, then the number of the others: "a, b and 3 more".
std::string short_list(const std::vector<std::string>& names, size_t most = 8);

}  // namespace sparsebit::easy
