#include "export/trial_run.h"

#include "export/carried.h"
#include "export/quantization.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/fx/call.h"
#include "sparsebit/fx/computable.h"
#include "sparsebit/fx/ops/data_sizes.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;

Fact fact_of(const Value& value) {
  Fact fact;
  if (value.is_tensor()) {
    fact.tensor = fx::TensorInfo{value.tensor().sizes().vec(), value.tensor().scalar_type()};
  } else if (value.is_sequence()) {
    for (const Value& item : value.items()) fact.items.push_back(fact_of(item));
  }
  return fact;
}

bool shares_memory(const Value& a, const Value& b) {
  if (a.is_sequence()) {
    return std::any_of(a.items().begin(), a.items().end(),
                       [&](const Value& item) { return shares_memory(item, b); });
  }
  if (b.is_sequence()) return shares_memory(b, a);
  return a.is_tensor() && b.is_tensor() && a.tensor().is_alias_of(b.tensor());
}

class RecordedRun {
 public:
  RecordedRun(const fx::GraphModule& module, const std::map<std::string, int64_t>& sizes,
              const TrialRun* other_than)
      : module_(module), sizes_(sizes), other_than_(other_than) {
    for (const Node& node : module.graph().nodes()) writes_ |= fx::mutates_input(node, module);
  }

  TrialRun run(std::vector<Value> inputs) {
    size_t next = 0;
    for (const Node& node : module_.graph().nodes()) {
      for (const Node* input : node.inputs()) ++uses_[input];
    }
    for (const Node& node : module_.graph().nodes()) {
      if (node.op() == fx::Opcode::Output) break;
      const bool is_input = node.op() == fx::Opcode::Placeholder;
      if (is_input) data_.insert(&node);
      std::optional<Value> value =
          is_input ? own(std::move(inputs.at(next++))) : execute_or_pretend(node);
      if (!value) value = promised(node);
      note(node, value);
      for (const Node* input : node.inputs()) {
        if (--uses_[input] == 0) values_.erase(input);
      }
    }
    return std::move(result_);
  }

 private:
  /// Copies a tensor of the caller if some node writes in place.
  Value own(Value value) const {
    return writes_ && value.is_tensor() ? Value(value.tensor().clone()) : value;
  }

  std::optional<Value> execute(const Node& node) {
    if (node.op() == fx::Opcode::GetAttr) {
      if (const at::Tensor* tensor = module_.find_tensor(node.target())) return own(*tensor);
      const Value* attribute = module_.find_attribute(node.target());
      SPARSEBIT_CHECK(attribute, InvalidModel, "node '", node.name(),
                      "': there is no parameter, buffer or attribute '", node.target(), "'");
      return *attribute;
    }
    if (std::any_of(node.inputs().begin(), node.inputs().end(),
                    [&](const Node* n) { return data_.contains(n); }))
      data_.insert(&node);
    if (is_carried(node)) return execute_carried(node);
    if (quant::find_quantizer(module_, node)) {  // same shape as its input
      const auto input = values_.find(node.inputs().front());
      return input == values_.end() ? std::nullopt : std::optional(own(input->second));
    }
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    const bool known = call && std::all_of(node.inputs().begin(), node.inputs().end(),
                                           [&](const Node* n) { return values_.contains(n); });
    if (!known || call->op->effect == fx::Effect::Checks) return std::nullopt;
    const fx::Args given = in_eval_mode(call->args);
    std::vector<Value> values;
    for (const Value& value : given.values()) {
      values.push_back(value.map_nodes([&](Node& n) { return values_.at(&n); }));
    }
    const fx::Args args(call->op->schema, std::move(values));
    Value result = with_context([&] { return fx::run_kernel(*call->op, args); },
                                [&] { return "at node '" + node.name() + "'"; });
    note_data(node, *call, args, result);
    return result;
  }

  /// Runs a node with subgraphs. The sizes of its results may differ in another run.
  std::optional<Value> execute_carried(const Node& node) {
    const bool known = fx::has_kernel(node, module_) &&
                       std::all_of(node.inputs().begin(), node.inputs().end(),
                                   [&](const Node* n) { return values_.contains(n); });
    if (!known) return std::nullopt;
    auto [args, kwargs] = node.map_arguments([&](Node& n) { return values_.at(&n); });
    Value result;
    try {
      result = fx::call_function(node.target(), std::move(args), std::move(kwargs));
    } catch (const Error&) {
      return std::nullopt;
    }
    result_.sizes_depend_on_data = true;
    return other_than_ ? enlarged(result) : result;
  }

  static Value enlarged(const Value& value) {
    if (value.is_sequence()) {
      std::vector<Value> items;
      for (const Value& item : value.items()) items.push_back(enlarged(item));
      return fx::Tuple(std::move(items));
    }
    if (!value.is_tensor()) return value;
    std::vector<int64_t> dims(static_cast<size_t>(value.tensor().dim()));
    std::iota(dims.begin(), dims.end(), 0);
    return fx::one_larger(value, dims);
  }

  /// Detects data-dependent sizes, and changes them if `other_than_` is given.
  void note_data(const Node& node, const fx::OperatorCall& call, const fx::Args& args,
                 Value& result) {
    if (!data_.contains(&node)) return;
    if (fx::reads_only_sizes(*call.op, args)) {
      data_.erase(&node);
    } else if (fx::takes_number(*call.op, args)) {
      result_.sizes_depend_on_data = true;  // sizes may be computed from it
      if (other_than_ && result.is_int()) result = result.to_int() + 1;
      if (other_than_ && result.is_double()) result = result.to_double() + 1;
    } else {
      const auto depends = [&](std::string_view name) {
        bool found = false;
        call.args[name].for_each_node([&](const Node& n) { found |= data_.contains(&n); });
        return found;
      };
      const std::vector<int64_t> dims = fx::data_sized_dims(*call.op, args, depends, result);
      if (dims.empty()) return;
      if (other_than_) result = fx::one_larger(result, dims);
      result_.sizes_depend_on_data = true;
    }
  }

  /// A node may fail with changed sizes; then its result has the shape of the earlier run.
  std::optional<Value> execute_or_pretend(const Node& node) {
    if (!other_than_) return execute(node);
    try {
      return execute(node);
    } catch (const Error&) {
      const auto before = other_than_->facts.find(&node);
      if (before == other_than_->facts.end() || !before->second.tensor) return std::nullopt;
      return Value(at::zeros(before->second.tensor->shape, before->second.tensor->dtype));
    }
  }

  /// A tensor of zeros with the shape of the node's TensorInfo; only its shape is meaningful.
  std::optional<Value> promised(const Node& node) const {
    if (!node.tensor_info()) return std::nullopt;
    Shape shape = node.tensor_info()->shape;
    const auto& symbols = node.tensor_info()->symbols;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const auto size = i < symbols.size() ? sizes_.find(symbols[i]) : sizes_.end();
      if (size == sizes_.end()) return std::nullopt;
      shape[i] = size->second;
    }
    return Value(at::zeros(shape, node.tensor_info()->dtype));
  }

  void note(const Node& node, std::optional<Value>& value) {
    if (!value) {
      if (node.tensor_info()) result_.facts[&node].tensor = node.tensor_info();
      return;
    }
    result_.facts[&node] = fact_of(*value);
    for (const Node* input : node.inputs()) {
      const auto it = values_.find(input);
      if (writes_ && it != values_.end() && shares_memory(*value, it->second))
        result_.aliases[&node].push_back(input);
    }
    if (uses_[&node] > 0) values_.emplace(&node, std::move(*value));
    if (data_.contains(&node) && fx::mutates_input(node, module_)) spread_data(node);
  }

  /// Marks all tensors as data-dependent that share memory with one that data was written to.
  void spread_data(const Node& writer) {
    std::vector<const Node*> found = {&writer};
    if (!writer.inputs().empty()) found.push_back(writer.inputs().front());
    while (!found.empty()) {
      const Node* node = found.back();
      found.pop_back();
      for (const auto& [view, bases] : result_.aliases) {
        for (const Node* base : bases) {
          if (base == node && data_.insert(view).second) found.push_back(view);
          if (view == node && data_.insert(base).second) found.push_back(base);
        }
      }
      data_.insert(node);
    }
  }

  const fx::GraphModule& module_;
  const std::map<std::string, int64_t>& sizes_;
  const TrialRun* other_than_;
  std::unordered_set<const Node*> data_;  // nodes whose content depends on an input's content
  bool writes_ = false;
  std::unordered_map<const Node*, Value> values_;
  std::unordered_map<const Node*, int64_t> uses_;
  TrialRun result_;
};

}  // namespace

fx::Args in_eval_mode(const fx::Args& args) {
  std::vector<Value> values = args.values();
  const auto set = [&](const char* name, Value value) {
    if (const auto i = args.schema().find(name)) values[*i] = std::move(value);
  };
  const auto statistics = args.schema().find("running_mean");
  const bool needs_batch = statistics && values[*statistics].is_none();
  if (!needs_batch) set("training", false);
  set("dropout_p", 0.0);
  set("max_norm", fx::None());  // renormalization writes to the embedding table
  return {args.schema(), std::move(values)};
}

TrialRun run_trial(const fx::GraphModule& module, std::vector<Value> inputs,
                   const std::map<std::string, int64_t>& sizes, const TrialRun* other_than) {
  const c10::InferenceMode inference;
  return RecordedRun(module, sizes, other_than).run(std::move(inputs));
}

}  // namespace sparsebit::exports
