#include "sparsebit/nn/containers.h"

#include "sparsebit/core/error.h"

namespace sparsebit::nn {
namespace {

void append_numbered(Module& owner, ModulePtr child) {
  owner.add_module(std::to_string(owner.children().size()), std::move(child));
}

[[noreturn]] void fail_call(const Module& container) {
  throw Error(ErrorKind::InvalidArgument,
              container.type() + " has no forward; call its children one by one");
}

}  // namespace

Sequential::Sequential(std::vector<ModulePtr> children)
    : Cloneable("torch.nn.Sequential", "input") {
  for (ModulePtr& child : children) append(std::move(child));
}

Sequential::Sequential(std::vector<std::pair<std::string, ModulePtr>> children)
    : Cloneable("torch.nn.Sequential", "input") {
  for (auto& [name, child] : children) add_module(name, std::move(child));
}

void Sequential::append(ModulePtr child) { append_numbered(*this, std::move(child)); }

Value Sequential::forward(const Args& in) {
  Value x = in["input"];
  for (const auto& item : children()) x = (*item.value())(x);
  return x;
}

ModuleList::ModuleList(std::vector<ModulePtr> children) : Cloneable("torch.nn.ModuleList", "") {
  for (ModulePtr& child : children) append(std::move(child));
}

void ModuleList::append(ModulePtr child) { append_numbered(*this, std::move(child)); }

Module& ModuleList::operator[](size_t index) const { return child(std::to_string(index)); }

Value ModuleList::forward(const Args&) { fail_call(*this); }

ModuleDict::ModuleDict(std::vector<std::pair<std::string, ModulePtr>> children)
    : Cloneable("torch.nn.ModuleDict", "") {
  for (auto& [name, child] : children) add_module(name, std::move(child));
}

Value ModuleDict::forward(const Args&) { fail_call(*this); }

}  // namespace sparsebit::nn
