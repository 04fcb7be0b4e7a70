#include "frontends/torchscript/source_model.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <sstream>

namespace sparsebit::frontends::torchscript {
namespace {

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

/// A key that is equal for tensors with the same elements of the same memory.
std::string memory_key(const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.layout() != at::kStrided || tensor.numel() == 0)
    return c10::str("object ", static_cast<const void*>(tensor.unsafeGetTensorImpl()));
  return c10::str(tensor.storage().data(), " ", tensor.storage_offset(), " ", tensor.sizes(), " ",
                  tensor.strides(), " ", tensor.scalar_type());
}

}  // namespace

std::string plain_name(const std::string& qualified) {
  std::string result;
  std::istringstream parts(qualified);
  for (std::string part; std::getline(parts, part, '.');) {
    if (part == "__torch__" || part.starts_with("___torch_mangle_")) continue;
    result += (result.empty() ? "" : ".") + part;
  }
  return result;
}

std::string class_name(const torch::jit::Module& module) {
  const auto& name = module.type()->name();
  return name ? plain_name(name->qualifiedName()) : "Module";
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

SourceModel::SourceModel(torch::jit::Module model, Budget& budget)
    : model_(std::move(model)), budget_(budget) {
  root_ = mirror(model_, "");
}

/// Modules with the same signature are the same module: same class, same attributes, same memory.
/// Zero for a module without tensors, which cannot be distinguished from an equal one.
int64_t SourceModel::signature(const torch::jit::Module& module) {
  const void* const key = module._ivalue().get();
  if (const auto known = signatures_.find(key); known != signatures_.end()) return known->second;
  const auto type = module.type();
  std::string text = type->name() ? type->name()->qualifiedName() : "";
  bool tensors = false;
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = module._ivalue()->getSlot(i);
    text += "|" + type->getAttributeName(i) + "=";
    if (value.isTensor() && value.toTensor().defined()) {
      text += memory_key(value.toTensor());
      tensors = true;
    } else if (value.isModule()) {
      const int64_t inner = signature(torch::jit::Module(value.toObject()));
      text += "(" + std::to_string(inner) + ")";
      tensors |= inner != 0;
    } else if (!value.isObject()) {
      text += c10::str(value);
    }
  }
  const int64_t next = static_cast<int64_t>(signature_texts_.size()) + 1;
  const int64_t number = tensors ? signature_texts_.emplace(text, next).first->second : 0;
  return signatures_.emplace(key, number).first->second;
}

/// Registers `module` and its contents under the paths of their counterparts in `first`.
fx::ModulePtr SourceModel::alias(const torch::jit::Module& module,
                                 const torch::jit::Module& first) {
  const ObjectPtr object = module._ivalue(), other = first._ivalue();
  const auto known = mirrors_.find(object.get());
  if (known != mirrors_.end()) return known->second;
  module_paths_.emplace(object.get(), module_paths_.at(other.get()));
  for (size_t i = 0; i < object->slots().size(); ++i) {
    if (!object->getSlot(i).isModule()) continue;
    alias(torch::jit::Module(object->getSlot(i).toObject()),
          torch::jit::Module(other->getSlot(i).toObject()));
  }
  return mirrors_.emplace(object.get(), mirrors_.at(other.get())).first->second;
}

fx::ModulePtr SourceModel::mirror(const torch::jit::Module& module, const std::string& path) {
  const void* key = module._ivalue().get();
  if (const auto known = mirrors_.find(key); known != mirrors_.end()) return known->second;
  if (const int64_t same = signature(module); same != 0) {
    const auto [first, is_new] = by_signature_.emplace(same, module._ivalue());
    if (!is_new) return alias(module, torch::jit::Module(first->second));
  }
  module_paths_.emplace(key, path);
  auto result = std::make_shared<fx::Module>(last_part(class_name(module)), fx::Schema());
  mirrors_.emplace(key, result);
  result->set_training(module.is_training());
  const auto type = module.type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string& name = type->getAttributeName(i);
    const c10::IValue value = module._ivalue()->getSlot(i);
    const bool parameter = type->is_parameter(i);
    if (value.isModule()) {
      result->add_module(name, mirror(torch::jit::Module(value.toObject()), join(path, name)));
    } else if (value.isTensor()) {
      const at::Tensor tensor = register_tensor(value.toTensor(), join(path, name));
      if (parameter)
        result->add_parameter(name, tensor, fx::Grad::AsGiven);
      else
        result->add_buffer(name, tensor);
    } else if (value.isNone() && (parameter || type->is_buffer(i))) {
      parameter ? result->add_parameter(name, {}, fx::Grad::AsGiven) : result->add_buffer(name, {});
    }
  }
  return result;
}

at::Tensor SourceModel::register_tensor(const at::Tensor& tensor, const std::string& path) {
  if (!tensor.defined()) return tensor;
  const at::Tensor& one = canonical_.emplace(memory_key(tensor), tensor).first->second;
  tensor_paths_.emplace(one.unsafeGetTensorImpl(), path);
  return one;
}

const std::string* SourceModel::path_of(const ObjectPtr& object) const {
  const auto found = module_paths_.find(object.get());
  return found == module_paths_.end() ? nullptr : &found->second;
}

at::Tensor SourceModel::canonical(const at::Tensor& tensor) const {
  if (!tensor.defined()) return tensor;
  const auto found = canonical_.find(memory_key(tensor));
  return found == canonical_.end() ? tensor : found->second;
}

std::string SourceModel::constant_path(const at::Tensor& tensor) {
  if (const std::string* known = path_of(tensor)) return *known;
  std::string name;
  do {
    name = "_tensor_constant" + std::to_string(next_constant_++);
  } while (root_->find_tensor(name) || root_->find_module(name));
  root_->add_buffer(name, tensor);
  tensor_paths_.emplace(tensor.unsafeGetTensorImpl(), name);
  return name;
}

bool SourceModel::owns(const at::Tensor& tensor) const {
  const std::string* path = path_of(canonical(tensor));
  return path && !path->starts_with("_tensor_constant");
}

const std::string* SourceModel::path_of(const at::Tensor& tensor) const {
  const auto found = tensor_paths_.find(tensor.unsafeGetTensorImpl());
  return found == tensor_paths_.end() ? nullptr : &found->second;
}

}  // namespace sparsebit::frontends::torchscript
