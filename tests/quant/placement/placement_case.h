#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/placement/placement.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sparsebit::quant::test {

/// A graph given as text, see fx::parse_graph(). `self.w` is a weight [4, 4, 1, 1], `self.b` a
/// bias [4], `self.m` a matrix [8, 8]; the input is [1, 4, 8, 8].
std::unique_ptr<fx::GraphModule> graph_of(const std::string& text);

/// The start of most cases: a convolution `%c` of the input `%x`, with weight `%w` and bias `%b`.
inline const std::string kConv = R"(
    %x = input()
    %w = self.w
    %b = self.b
    %c = torch.conv2d(%x, %w, %b)
)";

/// The placement by a platform's default config, "value > consumer" for each activation.
struct Placed {
  std::set<std::string> points;
  std::set<std::string> weights;  ///< layers with a quantized weight
  std::vector<Decision> floats;
  const Decision* about(const std::string& node) const;
};
Placed placed(const std::string& text, const std::string& platform,
              const OperatorSelection& selection = {});

}  // namespace sparsebit::quant::test
