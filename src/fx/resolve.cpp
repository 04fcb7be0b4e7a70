#include "sparsebit/fx/resolve.h"

#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::fx {
namespace {

/// `out_proj_weight` is the parameter `weight` of the child `out_proj`.
const at::Tensor* find_child_tensor(const Module& module, const std::string& name) {
  for (const auto& item : module.children()) {
    const std::string prefix = item.key() + "_";
    if (name.starts_with(prefix)) return item.value()->find_tensor(name.substr(prefix.size()));
  }
  return nullptr;
}

Value all_parameters(const Module& module) {
  List weights;
  for (const auto& item : module.own_parameters()) {
    if (item.value().defined()) weights.items.emplace_back(item.value());
  }
  return weights;
}

std::optional<Value> supplied_by(const Module& module, const ModuleForm& form,
                                 const std::string& name) {
  for (const auto& [preset, value] : form.preset) {
    if (preset == name) return value;
  }
  if (const at::Tensor* tensor = module.find_tensor(name)) return Value(*tensor);
  if (const Value* attribute = module.find_attribute(name)) return *attribute;
  if (const at::Tensor* tensor = find_child_tensor(module, name)) return Value(*tensor);
  if (name == "training") return Value(module.is_training());
  if (name == "flat_weights") return all_parameters(module);
  return std::nullopt;
}

bool is_true(const Value& value) { return value.is_bool() && value.get<bool>(); }

}  // namespace

const Spelling* find_spelling(const Node& node, const Module& root) {
  switch (node.op()) {
    case Opcode::CallFunction: {
      const Spelling* found = operators().find(node.target());
      const bool is_function = found && found->form && !node.target().starts_with("Tensor.");
      return is_function ? found : nullptr;
    }
    case Opcode::CallMethod:
      return operators().find("Tensor." + node.target());
    case Opcode::CallModule: {
      const Module* module = root.find(node.target());
      return module ? module->spelling() : nullptr;
    }
    default:
      return nullptr;
  }
}

Args bind_module(const Module& module, const Spelling& spelling, const Args& in) {
  const Schema& schema = spelling.op->schema;
  std::vector<Value> values;
  values.reserve(schema.size());
  for (const Parameter& p : schema.parameters()) {
    if (in.has(p.name)) {
      values.push_back(in[p.name]);
    } else if (std::optional<Value> own = supplied_by(module, *spelling.module, p.name)) {
      values.push_back(std::move(*own));
    } else {
      SPARSEBIT_CHECK(p.default_value, InvalidModel, module.type(),
                      " has no parameter or attribute '", p.name, "', which its operator '",
                      spelling.op->name, "' needs");
      values.push_back(*p.default_value);
    }
  }
  return Args(schema, std::move(values));
}

std::optional<OperatorCall> resolve(const Node& node, const Module& root) {
  const Spelling* spelling = find_spelling(node, root);
  if (!spelling) return std::nullopt;
  const auto read = [&] {
    if (spelling->form)
      return OperatorCall{spelling->op, bind_call(*spelling, node.args(), node.kwargs())};
    const ModulePtr module = root.find_module(node.target());
    const Args in = module->bind(node.args(), node.kwargs());
    return OperatorCall{spelling->op, bind_module(*module, *spelling, in)};
  };
  return with_context(read, [&] { return "at node '" + node.name() + "'"; });
}

bool mutates_input(const Node& node, const Module& root) {
  const Spelling* spelling = find_spelling(node, root);
  if (!spelling) return false;
  if (spelling->inplace || spelling->op->effect == Effect::WritesInput) return true;
  if (!spelling->op->schema.find("inplace")) return false;
  return is_true(resolve(node, root)->args["inplace"]);
}

void install_state(Module& module, const ModuleState& state, Grad grad) {
  const auto owner_of = [&module](const std::string& path) -> std::pair<Module*, std::string> {
    auto [parent, name] = split_path(path);
    if (!module.find(parent))
      module.set_module(parent, std::make_shared<Module>("Module", Schema()));
    return {module.find(parent), std::move(name)};
  };
  for (const auto& [path, tensor] : state.parameters) {
    const auto [owner, name] = owner_of(path);
    owner->add_parameter(name, tensor, grad);
  }
  for (const auto& [path, tensor] : state.buffers) {
    const auto [owner, name] = owner_of(path);
    owner->add_buffer(name, tensor);
  }
}

}  // namespace sparsebit::fx
