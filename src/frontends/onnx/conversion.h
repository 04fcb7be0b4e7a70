#pragma once

#include "frontends/onnx/attributes.h"
#include "frontends/onnx/operand.h"

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::frontends {

class GraphBuilder;

/// One ONNX node during its conversion: the interface of the converters to the model.
class Conversion {
 public:
  Conversion(GraphBuilder& builder, onnx::NodeProto& node, int64_t opset);

  const std::string& type() const { return node_.op_type(); }
  int64_t opset() const { return opset_; }
  const Attributes& attributes() const { return attributes_; }

  // --- inputs ----------------------------------------------------------------------------------

  size_t input_count() const { return static_cast<size_t>(node_.input_size()); }
  bool has_input(size_t i) const;  ///< false for an optional input that is left out or empty
  const std::string& input_name(size_t i) const;
  const Operand& operand(size_t i) const;

  /// The input as an argument: a node or a constant tensor; None when it is not given. Shape
  /// arithmetic is turned into a tensor.
  fx::Value tensor(size_t i);
  std::vector<fx::Value> tensors();  ///< all inputs
  /// As tensor(), but a constant without axes (0-d) becomes a number, as torch writes arithmetic
  /// with a scalar.
  fx::Value tensor_or_number(size_t i);
  /// The constant, or null.
  const at::Tensor* constant(size_t i) const;
  /// A constant with one element.
  std::optional<double> constant_number(size_t i) const;
  std::optional<std::vector<int64_t>> constant_ints(size_t i) const;
  /// Ints and nodes that give ints; empty when the input is a computed tensor.
  std::optional<fx::List> int_list(size_t i) const;

  /// Shape and type as far as they are known.
  std::optional<fx::TensorInfo> info(size_t i) const;
  std::optional<int64_t> rank(size_t i) const;
  std::optional<at::ScalarType> dtype(size_t i) const;
  /// A size of an input: an int when it is fixed, else a node.
  fx::Value size(size_t i, int64_t dim);

  // --- nodes -----------------------------------------------------------------------------------

  /// A call in torch's vocabulary. When all arguments are constants and the result is not larger
  /// than they are, the call is folded into a constant.
  fx::Value function(std::string_view target, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  fx::Value method(std::string_view name, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  /// As function(), but always a node: for operators whose result may be arbitrarily large
  /// (onnx.Expand) and for operators that must stay in the graph (onnx.DequantizeLinear).
  fx::Value node(std::string_view target, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  /// A call of a layer that has these tensors. Its path follows from the names in the file.
  fx::Value module(std::string_view type, std::vector<fx::Value> constructor, fx::Kwargs options,
                   const fx::ModuleState& state, std::vector<fx::Value> args);
  /// The transpose of a constant matrix, the same tensor each time, known by the same name.
  at::Tensor transposed(const at::Tensor& matrix);
  /// A constant as a vector, without its axes of size 1; the same tensor each time as well.
  at::Tensor as_vector(const at::Tensor& constant);
  /// The result of `make` for a constant, cached by the key `how`: many nodes can read one
  /// constant.
  at::Tensor derived(const at::Tensor& constant, const std::string& how,
                     const std::function<at::Tensor()>& make);
  /// Whether this node is the only reader of input i in the file.
  bool is_only_reader(size_t i) const;
  /// The constant that a get_attr node reads, or null.
  const at::Tensor* constant_of(const fx::Node& node) const;
  /// The layer that only this node calls, or null.
  const fx::Module* layer_of(const fx::Node& node) const;
  /// Removes a node without readers, and its layer.
  void undo(fx::Node& node);
  /// One item of a result that is a tuple.
  fx::Value item(const fx::Value& tuple, int64_t index);

  // --- results ---------------------------------------------------------------------------------

  size_t output_count() const { return static_cast<size_t>(node_.output_size()); }
  /// Whether the node has this result and the file names it.
  bool wants_output(size_t i) const;
  std::optional<fx::TensorInfo> output_info(size_t i) const;
  void give(Operand result) { give(0, std::move(result)); }
  void give(size_t i, Operand result);
  const std::vector<Operand>& results() const { return results_; }

  /// Throws Unsupported: the node will be carried unchanged, see carry_unchanged().
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  GraphBuilder& builder_;
  onnx::NodeProto& node_;
  int64_t opset_;
  Attributes attributes_;
  std::vector<Operand> results_;
};

using Converter = void (*)(Conversion&);

/// Converters by ONNX operator type (default domain).
const Registry<Converter>& converters();

}  // namespace sparsebit::frontends
