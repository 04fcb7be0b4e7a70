#include "frontends/torchscript/leaf.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

bool contains(const fx::TensorList& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& item) { return item.first == name; });
}

void collect(const fx::Module& module, const std::string& prefix, fx::ModuleState& state) {
  for (const auto& item : module.own_parameters())
    state.parameters.emplace_back(prefix + item.key(), item.value());
  for (const auto& item : module.own_buffers())
    state.buffers.emplace_back(prefix + item.key(), item.value());
  for (const auto& item : module.children())
    collect(*item.value(), prefix + item.key() + ".", state);
}

/// A constant of the class, or an attribute that is neither a tensor nor a module.
std::optional<Value> read_constant(const torch::jit::Module& module, const std::string& name) {
  const auto type = module.type();
  c10::IValue value;
  if (const auto constant = type->findConstantSlot(name))
    value = type->getConstant(*constant);
  else if (const auto slot = type->findAttributeSlot(name))
    value = module._ivalue()->getSlot(*slot);
  else
    return std::nullopt;
  if (value.isTensor() || value.isObject()) return std::nullopt;
  return to_value(value);
}

/// The attribute of the class that holds a constructor's argument, where the name differs.
std::string name_in_class(const fx::Spelling& spelling, const std::string& argument) {
  if (spelling.op->name == "pairwise_distance" && argument == "p") return "norm";
  return argument;
}

}  // namespace

const fx::Spelling* module_spelling(const torch::jit::Module& module) {
  const std::string name = class_name(module);
  const fx::Spelling* found = fx::operators().find(name);
  if (!found && name.starts_with("torch.nn.modules."))
    found = fx::operators().find("torch.nn." + last_part(name));
  return found && found->module ? found : nullptr;
}

std::optional<Value> implied_argument(const fx::Module& mirror, const std::string& argument) {
  const auto has = [&](const char* name) {
    const at::Tensor* tensor = mirror.find_tensor(name);
    return tensor && tensor->defined();
  };
  if (argument == "bias") {
    const auto parameters = mirror.named_parameters();
    return Value(std::any_of(parameters.begin(), parameters.end(), [](const auto& item) {
      return item.key() == "bias" || item.key() == "in_proj_bias" ||
             item.key().starts_with("bias_ih");
    }));
  }
  if (argument == "add_bias_kv") return Value(has("bias_k"));
  if (argument == "affine" || argument == "elementwise_affine") return Value(has("weight"));
  if (argument == "track_running_stats") return Value(has("running_mean"));
  return std::nullopt;
}

fx::ModuleState state_of(const fx::Module& mirror, const fx::Spelling& spelling) {
  fx::ModuleState state;
  collect(mirror, "", state);
  // Parameters and buffers that torch registers as None may be missing in a traced file.
  const fx::Schema& schema = spelling.op->schema;
  for (const char* name : {"weight", "bias", "in_proj_bias", "bias_k", "bias_v"}) {
    const bool expected = schema.find(name) && !spelling.module->constructor.empty() &&
                          !contains(state.parameters, name);
    const bool made = spelling.module->init != nullptr;
    const bool layers = schema.find("flat_weights").has_value();
    if (expected && made && !layers) state.parameters.emplace_back(name, at::Tensor());
  }
  for (const char* name : {"running_mean", "running_var", "num_batches_tracked"}) {
    if (schema.find(name) && !contains(state.buffers, name))
      state.buffers.emplace_back(name, at::Tensor());
  }
  return state;
}

fx::ModulePtr make_leaf(const fx::Spelling& spelling, const fx::Kwargs& constructor,
                        const fx::Module& mirror) {
  const fx::ModuleState state = state_of(mirror, spelling);
  std::vector<std::pair<at::Tensor, bool>> flags;
  for (const auto& [name, tensor] : state.parameters) {
    if (tensor.defined()) flags.emplace_back(tensor, tensor.requires_grad());
  }
  fx::ModulePtr module = fx::make_module(spelling.module->type, {}, constructor, state);
  for (auto& [tensor, flag] : flags) tensor.requires_grad_(flag);
  module->set_training(mirror.is_training());
  for (const auto& [path, child] : module->named_modules())
    child->set_training(mirror.is_training());
  return module;
}

fx::ModulePtr leaf_from_constants(const torch::jit::Module& module, const fx::Spelling& spelling,
                                  const fx::Module& mirror) {
  fx::Kwargs constructor;
  size_t found = 0;
  for (const fx::Parameter& p : spelling.module->constructor.parameters()) {
    std::optional<Value> value = read_constant(module, name_in_class(spelling, p.name));
    if (value && !p.variadic) ++found;
    if (const auto present = implied_argument(mirror, p.name)) value = present;
    if (!value && !p.default_value) return nullptr;
    if (value && !p.variadic) constructor.emplace_back(p.name, *value);
  }
  const bool traced =
      found == 0 && !spelling.module->constructor.empty() && spelling.op->name != "identity";
  if (traced) return nullptr;
  return make_leaf(spelling, constructor, mirror);
}

}  // namespace sparsebit::frontends::torchscript
