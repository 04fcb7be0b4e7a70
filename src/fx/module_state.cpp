// The tensors of a module tree: walking, converting, saving, copying.

#include "sparsebit/core/error.h"
#include "sparsebit/fx/module.h"
#include "sparsebit/fx/ops/value.h"

#include <ATen/ATen.h>

#include <unordered_map>
#include <unordered_set>

namespace sparsebit::fx {
namespace {

/// Copies each distinct tensor once, so that shared tensors stay shared.
class TensorCloner {
 public:
  at::Tensor operator()(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    at::Tensor& copy = copies_[tensor.unsafeGetTensorImpl()];
    if (!copy.defined()) {
      copy = tensor.detach().clone();
      if (tensor.requires_grad()) copy.requires_grad_();
    }
    return copy;
  }

 private:
  std::unordered_map<const c10::TensorImpl*, at::Tensor> copies_;
};

std::string join_path(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void append_names(std::string& text, const char* what, const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 5;
  if (names.empty()) return;
  text += c10::str("; ", what, " ", names.size(), ": ");
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > kMostNamed) text += ", ...";
}

}  // namespace

template <class Visit>
void Module::visit_tensors(const std::string& prefix, NamedTensors Module::*member,
                           const Visit& visit) const {
  for (const auto& item : this->*member) {
    if (item.value().defined()) visit(join_path(prefix, item.key()), item.value());
  }
  for (const auto& item : children_) {
    item.value()->visit_tensors(join_path(prefix, item.key()), member, visit);
  }
}

namespace {

/// Adds to `result`, optionally each tensor once.
auto collector(NamedTensors& result, Duplicates duplicates) {
  return [&result, duplicates, seen = std::make_shared<std::unordered_set<const void*>>()](
             const std::string& path, const at::Tensor& tensor) {
    const bool is_new = seen->insert(tensor.unsafeGetTensorImpl()).second;
    if (is_new || duplicates == Duplicates::Keep) result.insert(path, tensor);
  };
}

}  // namespace

NamedTensors Module::named_parameters(Duplicates duplicates) const {
  NamedTensors result("parameter");
  visit_tensors("", &Module::parameters_, collector(result, duplicates));
  return result;
}

NamedTensors Module::named_buffers(Duplicates duplicates) const {
  NamedTensors result("buffer");
  visit_tensors("", &Module::buffers_, collector(result, duplicates));
  return result;
}

NamedTensors Module::state_dict() const {
  NamedTensors result("tensor");
  visit_tensors("", &Module::parameters_, collector(result, Duplicates::Keep));
  visit_tensors("", &Module::buffers_, collector(result, Duplicates::Keep));
  return result;
}

void Module::load_state_dict(const NamedTensors& state) {
  const NamedTensors mine = state_dict();
  std::vector<std::string> missing, unexpected, misshapen;
  for (const auto& item : mine) {
    const at::Tensor* given = state.find(item.key());
    if (!given) {
      missing.push_back(item.key());
    } else if (given->sizes() != item.value().sizes()) {
      misshapen.push_back(item.key() + " (model has " + fx::describe(item.value()) +
                          ", state has " + fx::describe(*given) + ")");
    }
  }
  for (const auto& item : state) {
    if (!mine.contains(item.key())) unexpected.push_back(item.key());
  }
  std::string problems;
  append_names(problems, "missing", missing);
  append_names(problems, "unexpected", unexpected);
  append_names(problems, "wrong shape", misshapen);
  SPARSEBIT_CHECK(problems.empty(), InvalidModel, "the state dict does not fit ", type_, problems);
  const at::NoGradGuard no_grad;
  for (const auto& item : mine) at::Tensor(item.value()).copy_(*state.find(item.key()));
}

void Module::set_tensor(std::string_view path, at::Tensor value) {
  const at::Tensor* found = find_tensor(path);
  SPARSEBIT_CHECK(found && found->defined(), InvalidArgument, type_,
                  " has no parameter or buffer '", path, "'");
  const at::Tensor old = *found;
  for (const auto& [name, module] : named_modules()) {
    for (NamedTensors* tensors : {&module->parameters_, &module->buffers_}) {
      for (auto& item : *tensors) {
        if (item.value().is_same(old)) item.value() = value;
      }
    }
  }
}

void Module::convert_tensors(const std::function<at::Tensor(const at::Tensor&)>& convert) {
  const auto convert_in_place = [&convert](at::Tensor tensor) {
    const at::Tensor converted = convert(tensor.detach());
    const bool changed =
        converted.dtype() != tensor.dtype() || converted.device() != tensor.device();
    if (changed) tensor.set_data(converted);
  };
  std::unordered_set<const c10::TensorImpl*> done;
  const NamedTensors tensors = state_dict();
  for (const auto& item : tensors) {
    const at::Tensor& tensor = item.value();
    if (!done.insert(tensor.unsafeGetTensorImpl()).second) continue;
    if (tensor.grad().defined()) convert_in_place(tensor.grad());
    convert_in_place(tensor);
  }
}

void Module::to(at::Device device) {
  convert_tensors([&](const at::Tensor& t) { return t.to(device); });
}

void Module::to(at::ScalarType dtype) {
  SPARSEBIT_CHECK(at::isFloatingType(dtype), InvalidArgument,
                  "a model can be converted to floating types only, got ", dtype_name(dtype));
  convert_tensors([&](const at::Tensor& t) { return t.is_floating_point() ? t.to(dtype) : t; });
}

void Module::zero_grad() {
  for (const auto& item : named_parameters()) at::Tensor(item.value()).mutable_grad().reset();
}

/// Copies a module tree; shared modules and tensors are copied once.
class ModuleCloner {
 public:
  ModulePtr operator()(const Module& module) {
    ModulePtr& copy = copies_[&module];
    if (copy) return copy;
    copy = module.shallow_copy();
    for (NamedTensors* tensors : {&copy->parameters_, &copy->buffers_}) {
      for (auto& item : *tensors) item.value() = copy_tensor_(item.value());
    }
    for (auto& item : copy->children_) item.value() = (*this)(*item.value());
    return copy;
  }

 private:
  std::unordered_map<const Module*, ModulePtr> copies_;
  TensorCloner copy_tensor_;
};

ModulePtr Module::clone() const { return ModuleCloner()(*this); }

ModulePtr Module::shallow_copy() const {
  SPARSEBIT_CHECK(typeid(*this) == typeid(Module), Unsupported, "a module of class ", type_,
                  " cannot be copied: derive it from nn::Cloneable");
  return ModulePtr(new Module(*this));  // not make_shared: the copy constructor is protected
}

}  // namespace sparsebit::fx
