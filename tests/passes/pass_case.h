#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/passes/runner.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::passes::test {

using Modules = std::vector<std::pair<std::string, fx::ModulePtr>>;
using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A model in eval mode whose graph is given as text; see parse_graph(). Modules and buffers are at
/// the paths that the graph calls and reads.
std::unique_ptr<fx::GraphModule> model_of(const std::string& text, const Modules& modules = {},
                                          const Tensors& buffers = {});

/// The graph in the short form that parse_graph() reads, one node per line.
std::string short_text(const fx::Graph& graph);

/// All tensors in the results of a model.
std::vector<at::Tensor> outputs_of(fx::GraphModule& module, const std::vector<fx::Value>& inputs);

/// The largest difference, relative to the largest number of each expected tensor.
double difference(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected);

/// Runs passes and checks that the model's results stay the same, within `tolerance`. Returns the
/// graph's short text.
std::string run_and_compare(fx::GraphModule& module, const std::vector<std::string>& passes,
                            const std::vector<fx::Value>& inputs, double tolerance = 1e-5);

/// Runs one pass on a graph given as text, with shapes recorded for an input of this shape, and
/// returns the resulting graph as text.
std::string simplified(const char* pass, const std::string& text, const Modules& modules = {},
                       const Tensors& buffers = {}, const std::vector<int64_t>& shape = {2, 4});

/// A module that only holds parameters.
fx::ModulePtr holder_of(const Tensors& parameters);

/// Normally distributed numbers, the same each time.
fx::Value random_input(const std::vector<int64_t>& shape);

/// Fills weights and statistics with different numbers per channel, some gammas negative.
void randomize(fx::Module& module, uint64_t seed = 1);

}  // namespace sparsebit::passes::test
