#include "frontends/torchscript/example_sizes.h"

#include "sparsebit/fx/call.h"
#include "sparsebit/fx/ops/data_sizes.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

/// Whether a node queries a property of a tensor that does not depend on its elements.
bool asks_for_form(const fx::Node& node) {
  static const std::set<std::string> all = {"size",       "dim",      "ndimension",
                                            "numel",      "nelement", "is_floating_point",
                                            "is_complex", "len",      "getattr"};
  const std::string& target = node.target();
  return all.contains(target.substr(target.rfind('.') + 1));
}

bool has_tensor(const Value& value) {
  if (value.is_sequence())
    return std::any_of(value.items().begin(), value.items().end(), has_tensor);
  if (value.is<fx::Dict>()) {
    const auto& items = value.get<fx::Dict>().items;
    return std::any_of(items.begin(), items.end(),
                       [](const auto& item) { return has_tensor(item.second); });
  }
  return value.is_tensor();
}

/// A tensor of the same type and shape that takes hardly any memory.
Value hollow(const Value& value) {
  if (value.is_tensor()) {
    const at::Tensor& tensor = value.tensor();
    if (tensor.layout() != at::kStrided) return tensor.clone();
    return at::zeros({}, tensor.options()).expand(tensor.sizes());
  }
  if (!value.is_sequence()) return value;
  std::vector<Value> items;
  for (const Value& item : value.items()) items.push_back(hollow(item));
  return value.is<fx::List>() ? Value(fx::List(std::move(items)))
                              : Value(fx::Tuple(std::move(items)));
}

/// Calls a module in eval mode, so that running statistics do not change.
Value call_in_eval_mode(fx::Module& module, const std::vector<Value>& args,
                        const fx::Kwargs& kwargs) {
  const fx::ModulePtr copy = module.is_training() ? module.clone() : nullptr;
  if (!copy) return module.invoke(args, kwargs);
  copy->eval();
  return copy->invoke(args, kwargs);
}

}  // namespace

std::optional<Value> ExampleSizes::value_of(const fx::Node& node) {
  if (shapes_.empty() || node.op() == fx::Opcode::Placeholder) return {};
  run_on();
  const auto found = known_.find(&node);
  if (found == known_.end() || !found->second.by_sizes) return {};
  return has_tensor(*found->second.value) ? std::nullopt : found->second.value;
}

std::optional<int64_t> ExampleSizes::length_of(const fx::Node& node) {
  if (shapes_.empty()) return {};
  run_on();
  const auto found = known_.find(&node);
  if (found == known_.end() || !found->second.by_sizes) return {};
  if (!found->second.value->is_sequence()) return {};
  return static_cast<int64_t>(found->second.value->items().size());
}

/// Runs the nodes that were added since the last call.
void ExampleSizes::run_on() {
  const c10::InferenceMode inference;
  auto next = last_ ? std::next(*last_) : graph_.nodes().begin();
  for (; next != graph_.nodes().end(); ++next) {
    known_[&*next] = run(*next);
    last_ = next;
  }
}

/// The example value of an input. Optional inputs without a given shape are None: masks and the
/// like do not affect the sizes of results.
std::optional<Value> ExampleSizes::example(const fx::Node& input) const {
  const auto found = shapes_.find(input.target());
  const bool optional = !input.args().empty() && input.args()[0].is_none();
  if (found == shapes_.end()) return optional ? std::optional(Value()) : std::nullopt;
  return Value(at::zeros({}, found->second.dtype).expand(found->second.shape));
}

ExampleSizes::Known ExampleSizes::run(const fx::Node& node) {
  Known result;
  try {
    result.value = node.op() == fx::Opcode::Placeholder ? example(node) : execute(node);
  } catch (const std::exception&) {
    return {};  // unknown; nodes that depend on it stay unknown as well
  }
  if (!result.value) return {};
  result.by_sizes = decided_by_sizes(node, *result.value);
  result.value = hollow(*result.value);
  return result;
}

std::optional<Value> ExampleSizes::execute(const fx::Node& node) {
  if (node.op() == fx::Opcode::GetAttr) {
    const at::Tensor* tensor = root_.find_tensor(node.target());
    return tensor ? std::optional(Value(tensor->detach())) : std::nullopt;
  }
  for (const fx::Node* input : node.inputs()) {
    if (!known_[input].value) return {};
  }
  const bool writes = fx::mutates_input(node, root_);
  const auto given = [&](fx::Node& input) {
    const Value& value = *known_[&input].value;
    return writes && value.is_tensor() ? Value(value.tensor().clone(at::MemoryFormat::Contiguous))
                                       : value;
  };
  auto [args, kwargs] = node.map_arguments(given);
  if (node.op() == fx::Opcode::CallFunction) return fx::call_function(node.target(), args, kwargs);
  if (node.op() == fx::Opcode::CallMethod) return fx::call_method(node.target(), args, kwargs);
  const fx::ModulePtr module = root_.find_module(node.target());
  return module ? std::optional(call_in_eval_mode(*module, args, kwargs)) : std::nullopt;
}

bool ExampleSizes::decided_by_sizes(const fx::Node& node, const Value& value) const {
  if (node.op() == fx::Opcode::Placeholder) return value.is_tensor() || value.is_none();
  if (node.op() == fx::Opcode::GetAttr) return value.is_tensor();
  bool from_tensors = false;
  for (const fx::Node* input : node.inputs()) {
    const Known& known = known_.at(input);
    if (!known.by_sizes) return false;
    from_tensors |= has_tensor(*known.value);
  }
  if (!has_tensor(value)) return !from_tensors || asks_for_form(node);
  return !has_shape_from_data(node, value);
}

bool ExampleSizes::has_shape_from_data(const fx::Node& node, const Value& value) const {
  const std::optional<fx::OperatorCall> call = fx::resolve(node, root_);
  if (!call) return true;  // unknown operator: possible
  std::vector<Value> values;
  for (const Value& arg : call->args.values())
    values.push_back(arg.map_nodes([&](fx::Node& input) { return *known_.at(&input).value; }));
  const fx::Args args(call->op->schema, std::move(values));
  const auto is_tensor = [&](std::string_view name) { return has_tensor(args[name]); };
  return !fx::data_sized_dims(*call->op, args, is_tensor, value).empty();
}

bool looks_decided_by_sizes(const fx::Node& node) {
  const bool of_input = !node.inputs().empty() && node.inputs()[0]->op() == fx::Opcode::Placeholder;
  const bool length_of_list = node.target() == "len" && of_input;  // len() of a tensor is rare
  if (asks_for_form(node)) return !length_of_list;
  const bool computed =
      node.op() == fx::Opcode::CallFunction || node.op() == fx::Opcode::CallMethod;
  return computed && !node.inputs().empty() &&
         std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const fx::Node* input) { return looks_decided_by_sizes(*input); });
}

}  // namespace sparsebit::frontends::torchscript
