#pragma once

#include "sparsebit/passes/rewriter.h"

#include <ATen/core/Tensor.h>

#include <limits>
#include <optional>
#include <vector>

// What passes ask about arguments.

namespace sparsebit::passes {

/// A tensor that is part of the model and that the graph does not write to: given directly, or read
/// by a get_attr node. Null otherwise.
const at::Tensor* constant_tensor(const fx::Value& value, const Rewriter& rewriter);

/// Arguments of a call in which get_attr nodes are the tensors they read. Nothing when the graph
/// writes to one of its tensors.
std::optional<fx::Args> with_constants(const NodeView& view, const Rewriter& rewriter);

/// Whether a get_attr node reads a parameter that somebody else uses as well: what is computed from
/// it instead would not be shared any more.
bool reads_shared_parameter(const fx::Node& node, const Rewriter& rewriter);

/// The number that a value is: a Python number, or a constant tensor without dimensions, which
/// counts as one.
std::optional<double> constant_number(const fx::Value& value, const Rewriter& rewriter);

/// Whether it is this number, as far as float32 tells.
bool is_number(const fx::Value& value, double number, const Rewriter& rewriter);

/// A list or tuple of ints, or one int; nothing when nodes are among them.
std::optional<std::vector<int64_t>> constant_ints(const fx::Value& value);

/// The rank of a tensor, if it was recorded or follows from the steps before.
std::optional<int64_t> rank_of(const fx::Value& value, const Rewriter& rewriter);

/// The size of a tensor's last axis, if it was recorded and is fixed.
std::optional<int64_t> last_size_of(const fx::Value& value);

/// The element type, if it was recorded.
std::optional<at::ScalarType> type_of(const fx::Value& value, const Rewriter& rewriter);

/// Whether the elements are known to be floating numbers: recorded, or what the steps before give.
/// Activations refuse integers, which arithmetic takes.
bool is_known_float(const fx::Value& value, const Rewriter& rewriter);

/// Whether two runs with the same inputs may differ: dropout that is off draws nothing.
bool draws_random_numbers(const fx::OperatorCall& call);

/// Whether add and sub have no factor, and div rounds nothing: a plain operator of two.
bool is_plain(const NodeView& view);

/// What a step cuts its input to.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Of relu, relu6, clamp, hardtanh, maximum and minimum whose bounds are numbers and whose result
/// has the shape and type of the argument `input`. Nothing for others.
std::optional<Bounds> bounds_of(const NodeView& view, const Rewriter& rewriter);

/// The c of min(max(x, 0), c): 6 for relu6, or what a clamp or hardtanh says. Nothing for others.
std::optional<double> relu_limit(const NodeView& view, const Rewriter& rewriter);

/// Whether the argument `input` is this node.
bool reads(const NodeView& view, const fx::Node& node);

/// The other operand of a node of two operands.
const fx::Value& other_operand(const NodeView& view, const fx::Node& known);

/// What a matmul, mm or bmm has on the right.
const fx::Value& right_side(const NodeView& product);

/// The number with which a mul or div multiplies the value of `known`; nothing when it does not.
std::optional<double> factor_of(const NodeView& view, const fx::Node& known,
                                const Rewriter& rewriter);

/// Whether that number is this one, as far as float32 tells.
bool multiplies(const NodeView& view, const fx::Node& known, double factor,
                const Rewriter& rewriter);

/// Whether a plain add adds this number to the value of `known`.
bool adds(const NodeView& view, const fx::Node& known, double number, const Rewriter& rewriter);

}  // namespace sparsebit::passes
