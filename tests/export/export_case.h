#pragma once

#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/graph_module.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::exports::test {

using Tensors = std::vector<at::Tensor>;

/// A graph module without weights from text: see fx/parser.h.
std::unique_ptr<fx::GraphModule> parse_module(const std::string& graph);

/// A summary of the graph, one line per node: `y = Conv(x, conv.weight, conv.bias)`.
std::string outline(const onnx::ModelProto& model);

/// The interpreter's results for copies of the inputs, in eval mode; numbers as tensors.
Tensors run_reference(const fx::GraphModule& module, const std::vector<fx::Value>& inputs);

/// Collects exported models to run them in one ONNX Runtime process.
class OrtQueue {
 public:
  /// How a result is compared.
  enum class Compare { Values, ShapesOnly };

  explicit OrtQueue(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// @param what  names the case in failures.
  void add(const std::string& what, const onnx::ModelProto& model, const Tensors& inputs,
           const Tensors& expected, double tolerance = 1e-4, Compare compare = Compare::Values);
  size_t size() const { return entries_.size(); }

  /// Runs all added models; differences are test failures. Returns how many agreed.
  size_t run();

 private:
  struct Entry {
    std::string what;
    std::filesystem::path model;
    std::vector<std::string> input_names;
    Tensors inputs, expected;
    double tolerance;
    Compare compare;
  };

  std::filesystem::path folder_;
  std::vector<Entry> entries_;
};

}  // namespace sparsebit::exports::test
