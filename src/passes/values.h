#pragma once

#include "sparsebit/passes/rewriter.h"

#include <ATen/core/Tensor.h>

#include <limits>
#include <optional>
#include <vector>

// Queries of passes about arguments.

namespace sparsebit::passes {

/// A tensor of the model that the graph does not write to: given directly, or read by a get_attr
/// node. Null otherwise.
const at::Tensor* constant_tensor(const fx::Value& value, const Rewriter& rewriter);

/// Arguments of a call, with get_attr nodes replaced by the tensors they read. Empty when the graph
/// writes to one of these tensors.
std::optional<fx::Args> with_constants(const NodeView& view, const Rewriter& rewriter);

/// Whether a get_attr node reads a parameter with other users: a constant computed from it would no
/// longer be shared with them.
bool reads_shared_parameter(const fx::Node& node, const Rewriter& rewriter);

/// The number in a value: a Python number, or a constant 0-d tensor.
std::optional<double> constant_number(const fx::Value& value, const Rewriter& rewriter);

/// Whether a value is this number, in float32 precision.
bool is_number(const fx::Value& value, double number, const Rewriter& rewriter);

/// A list or tuple of ints, or one int; empty when it contains nodes.
std::optional<std::vector<int64_t>> constant_ints(const fx::Value& value);

/// The rank of a tensor, if it was recorded or follows from upstream nodes.
std::optional<int64_t> rank_of(const fx::Value& value, const Rewriter& rewriter);

/// The size of a tensor's last axis, if it was recorded and is fixed.
std::optional<int64_t> last_size_of(const fx::Value& value);

/// The element type, if it was recorded.
std::optional<at::ScalarType> type_of(const fx::Value& value, const Rewriter& rewriter);

/// Whether the elements are known to be floating-point: recorded, or derived from upstream nodes.
/// Activations reject integers, which arithmetic accepts.
bool is_known_float(const fx::Value& value, const Rewriter& rewriter);

/// Whether two runs with the same inputs may differ; false for inactive dropout.
bool draws_random_numbers(const fx::OperatorCall& call);

/// Whether a binary operator is plain: add and sub without `alpha`, div without rounding.
bool is_plain(const NodeView& view);

/// The range to which a node clips its input.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// The bounds of relu, relu6, clamp, hardtanh, maximum and minimum, if they are numbers and the
/// result has the shape and type of the argument `input`. Empty for others.
std::optional<Bounds> bounds_of(const NodeView& view, const Rewriter& rewriter);

/// The c of min(max(x, 0), c): 6 for relu6, or the bound of a clamp or hardtanh. Empty for others.
std::optional<double> relu_limit(const NodeView& view, const Rewriter& rewriter);

/// Whether the argument `input` is this node.
bool reads(const NodeView& view, const fx::Node& node);

/// The other operand of a binary node.
const fx::Value& other_operand(const NodeView& view, const fx::Node& known);

/// The right operand of a matmul, mm or bmm.
const fx::Value& right_side(const NodeView& product);

/// The number with which a mul or div multiplies the value of `known`; empty otherwise.
std::optional<double> factor_of(const NodeView& view, const fx::Node& known,
                                const Rewriter& rewriter);

/// Whether that number is `factor`, in float32 precision.
bool multiplies(const NodeView& view, const fx::Node& known, double factor,
                const Rewriter& rewriter);

/// Whether a plain add adds this number to the value of `known`.
bool adds(const NodeView& view, const fx::Node& known, double number, const Rewriter& rewriter);

}  // namespace sparsebit::passes
