#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/ops/value.h"

#include <vector>

namespace sparsebit::fx {

/// An operator of a file that has graphs among its attributes (onnx.If, onnx.Loop). It stands in
/// a graph as it stands in the file; the layer that reads such files knows how to run it.
struct GraphOperator {
  Value (*run)(const std::vector<Value>& args, const Kwargs& kwargs);
  /// Whether all operators of its graphs are known.
  bool (*can_run)(const Kwargs& kwargs);
};

/// By target. Readers of files add theirs before they make graphs that need them.
Registry<GraphOperator>& graph_operators();

}  // namespace sparsebit::fx
