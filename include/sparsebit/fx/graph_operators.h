#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/ops/value.h"

#include <vector>

namespace sparsebit::fx {

/// An operator with subgraphs as attributes (onnx.If, onnx.Loop). Its node keeps the form it has in
/// the file; the frontend that reads the file supplies the functions that run it.
struct GraphOperator {
  Value (*run)(const std::vector<Value>& args, const Kwargs& kwargs);
  /// Whether all operators of its subgraphs are known.
  bool (*can_run)(const Kwargs& kwargs);
};

/// By target. Frontends register their operators before they build graphs with them.
Registry<GraphOperator>& graph_operators();

}  // namespace sparsebit::fx
