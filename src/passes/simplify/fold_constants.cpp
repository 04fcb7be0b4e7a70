#include "passes/all_passes.h"
#include "passes/values.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/result_size.h"
#include "sparsebit/fx/ops/work_limit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::passes {
namespace {

using fx::Node;
using fx::Value;

/// Results of more bytes than this are folded only if one of their inputs is as large.
constexpr size_t kSmall = 1'000'000;
/// Results that may have more elements than this are not computed at all.
constexpr double kMostElements = 1 << 24;
/// Elements read and MACs of all constants together: a few seconds. The rest is computed when the
/// model runs.
constexpr double kMostWork = 2e10;
/// Weights that are integers in a file stay integers.
constexpr const char* kDequantize = "onnx.DequantizeLinear";

size_t bytes_of(const Value& value) {
  if (value.is_tensor()) return value.tensor().nbytes();
  size_t bytes = 0;
  if (value.is_sequence()) {
    for (const Value& item : value.items()) bytes += bytes_of(item);
  }
  return bytes;
}

bool contains_tensor(const Value& value) {
  if (value.is_sequence())
    return std::any_of(value.items().begin(), value.items().end(), contains_tensor);
  return value.is_tensor() || value.is<fx::Dict>();
}

class ConstantFolder {
 public:
  explicit ConstantFolder(Rewriter& rewriter) : rewriter_(rewriter), module_(rewriter.module()) {
    for (const auto& item : module_.named_parameters(fx::Duplicates::Keep))
      parameters_.insert(item.key());
  }

  void run() {
    const fx::WorkLimit limit(kMostWork);
    for (Node* node : rewriter_.index().nodes()) {
      if (std::optional<Constant> constant = compute(*node)) known_.emplace(node, *constant);
    }
    for (Node* node : rewriter_.index().nodes()) {
      const bool folds = known_.contains(node) && node->op() != fx::Opcode::GetAttr;
      if (folds && is_read_by_others(*node)) store(*node);
    }
  }

 private:
  struct Constant {
    Value value;
    bool trained = false;  ///< computed from parameters
  };

  std::optional<Constant> compute(Node& node) const {
    if (node.op() == fx::Opcode::GetAttr) return read(node);
    const bool is_function =
        node.op() == fx::Opcode::CallFunction || node.op() == fx::Opcode::CallMethod;
    const NodeView& view = rewriter_.index().view(node);
    if (!is_function || !view.call || rewriter_.memory().is_written(node)) return std::nullopt;
    const fx::Operator& op = *view.call->op;
    if (draws_random_numbers(*view.call) || op.effect != fx::Effect::None || op.name == kDequantize)
      return std::nullopt;
    Constant result;
    size_t bytes = kSmall;
    for (const Node* input : node.inputs()) {
      const auto known = known_.find(input);
      if (known == known_.end()) return std::nullopt;
      result.trained |= known->second.trained;
      bytes = std::max(bytes, bytes_of(known->second.value));
    }
    const fx::OperatorCall call = with_known_values(*view.call);
    if (fx::most_elements(*call.op, call.args) >
        std::max(kMostElements, static_cast<double>(bytes)))
      return std::nullopt;
    const std::optional<Value> value = evaluate(call);
    if (!value || bytes_of(*value) > bytes) return std::nullopt;
    result.value = *value;
    return result;
  }

  /// Reads a get_attr node; empty for a parameter with other readers, which has to stay shared.
  std::optional<Constant> read(Node& node) const {
    const at::Tensor* tensor = constant_tensor(node, rewriter_);
    const bool trained = parameters_.contains(node.target());
    if (!tensor || (trained && reads_shared_parameter(node, rewriter_))) return std::nullopt;
    return Constant{tensor->detach(), trained && tensor->requires_grad()};
  }

  fx::OperatorCall with_known_values(const fx::OperatorCall& call) const {
    std::vector<Value> values;
    for (const Value& value : call.args.values())
      values.push_back(value.map_nodes([&](Node& node) { return known_.at(&node).value; }));
    return {call.op, {call.op->schema, std::move(values)}};
  }

  static std::optional<Value> evaluate(const fx::OperatorCall& call) {
    try {
      return fx::run_kernel(*call.op, call.args);
    } catch (const Error&) {
      return std::nullopt;  // running the model reports the error
    }
  }

  bool is_read_by_others(const Node& node) const {
    return std::any_of(node.users().begin(), node.users().end(),
                       [&](const Node* user) { return !known_.contains(user); });
  }

  void store(Node& node) {
    const auto& [value, trained] = known_.at(&node);
    if (value.is_tensor()) {
      const fx::Graph::InsertPoint here = rewriter_.graph().inserting_before(node);
      rewriter_.replace({{&node, rewriter_.graph().get_attr(add_tensor(node, value, trained))}});
    } else if (!contains_tensor(value)) {
      rewriter_.replace({{&node, value}});
    }
  }

  std::string add_tensor(const Node& node, const Value& value, bool trained) {
    const std::string path = rewriter_.free_path(node.name());
    const at::Tensor tensor = value.tensor().detach().contiguous().clone();
    if (trained) {
      module_.add_parameter(path, tensor);
    } else {
      module_.add_buffer(path, tensor);
    }
    return path;
  }

  Rewriter& rewriter_;
  fx::GraphModule& module_;
  std::unordered_set<std::string> parameters_;  // paths
  std::unordered_map<const Node*, Constant> known_;
};

}  // namespace

Pass fold_constants() {
  return {.name = "fold_constants",
          .summary = "compute nodes that do not depend on an input once (constant folding)",
          .stage = Stage::Simplify,
          .run = [](Rewriter& rewriter) { ConstantFolder(rewriter).run(); }};
}

}  // namespace sparsebit::passes
