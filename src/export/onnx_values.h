#pragma once

#include "sparsebit/fx/ops/value.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::exports {

using Shape = std::vector<int64_t>;  ///< -1 where the size is not fixed

struct Quantized;

/// A value of the ONNX graph that is being written: its name and what is known about it. An empty
/// name is an omitted optional input.
struct OnnxTensor {
  std::string name = {};
  at::ScalarType dtype = at::ScalarType::Undefined;  ///< Undefined if unknown
  std::optional<Shape> shape = {};                   ///< unset if the rank is unknown
  at::Tensor constant = {};                          ///< defined for constants of the exporter
  std::shared_ptr<const Quantized> integers = {};    ///< set for results of DequantizeLinear

  bool present() const { return !name.empty(); }
  bool fixed() const;  ///< whether every size is known
  /// Throws Unsupported when the rank is not known.
  int64_t rank() const;
  /// Size of a dimension, counted from the end when negative; -1 when it is not fixed.
  int64_t size(int64_t dim) const;
  /// `dim` counted from the front.
  int64_t axis(int64_t dim) const;
};

/// A tensor shared by several nodes of our graph, so that all of them see an in-place change.
struct Cell {
  OnnxTensor sym;
};

/// The result of a node of our graph, in terms of the ONNX graph.
struct NodeResult {
  enum class Kind {
    Plain,     ///< known at export: None, numbers, strings, constant tensors, ...
    Tensor,    ///< a tensor of the ONNX graph
    Number,    ///< a Python int, float or bool that is computed in the ONNX graph; 0-dim
    Sequence,  ///< a list or tuple with tensors or computed numbers inside
  };
  Kind kind = Kind::Plain;
  fx::Value plain = {};
  std::shared_ptr<Cell> cell = {};
  std::vector<NodeResult> items = {};
  std::vector<std::string> keys = {};  ///< keys of a dict, one per item
  bool is_list = false;

  NodeResult() = default;
  NodeResult(fx::Value value) : plain(std::move(value)) {}  // NOLINT
  NodeResult(OnnxTensor sym);                               // NOLINT, a tensor
  static NodeResult number(OnnxTensor sym);
  static NodeResult sequence(std::vector<NodeResult> items, bool is_list = false);

  bool is_plain() const { return kind == Kind::Plain; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_number() const { return kind == Kind::Number; }
  bool is_sequence() const { return kind == Kind::Sequence; }
  bool is_none() const { return is_plain() && plain.is_none(); }
  const OnnxTensor& sym() const { return cell->sym; }
};

/// Shape of an elementwise result. Nothing when either shape is unknown.
std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);

}  // namespace sparsebit::exports
