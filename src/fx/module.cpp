#include "sparsebit/fx/module.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/node.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"

#include <ATen/ATen.h>

#include <unordered_set>

namespace sparsebit::fx {
namespace {

template <class T>
const T& find_or_throw(const torch::OrderedDict<std::string, T>& items, std::string_view name,
                       const std::string& type) {
  const T* found = items.find(std::string(name));
  SPARSEBIT_CHECK(found, InvalidArgument, type, " has no ", items.key_description(), " '", name,
                  "'", did_you_mean(name, items.keys()));
  return *found;
}

/// Replaces in place or appends; an OrderedDict's insert() refuses names it has.
template <class T>
void put(torch::OrderedDict<std::string, T>& items, const std::string& name, T value) {
  if (T* existing = items.find(name)) {
    *existing = std::move(value);
  } else {
    items.insert(name, std::move(value));
  }
}

}  // namespace

std::pair<std::string, std::string> split_path(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, dot)), std::string(path.substr(dot + 1))};
}

Module::Module(std::string type, Schema forward)
    : type_(std::move(type)),
      spelling_(operators().find(type_)),
      forward_schema_(std::move(forward)) {}

/// Also finds types that were registered after this module was constructed.
const Spelling* Module::spelling_of_type() const {
  return spelling_ ? spelling_ : operators().find(type_);
}

const Spelling* Module::spelling() const {
  if (typeid(*this) != typeid(Module)) return nullptr;
  const Spelling* found = spelling_of_type();
  return found && found->module ? found : nullptr;
}

Value Module::invoke(std::span<const Value> args, const Kwargs& kwargs) {
  if (Tracer* tracer = Tracer::current()) return tracer->call_module(*this, args, kwargs);
  return forward(bind(args, kwargs));
}

Args Module::bind(std::span<const Value> args, const Kwargs& kwargs) const {
  return with_context([&] { return Args(forward_schema_, forward_schema_.bind(args, kwargs)); },
                      [&] { return "in a call of " + type_; });
}

Value Module::forward(const Args& in) {
  const Spelling* spelling = spelling_of_type();
  SPARSEBIT_CHECK(spelling && spelling->module, Unsupported, "unknown module type '", type_,
                  "': it cannot be executed", did_you_mean(type_, operators().spellings()));
  return run_kernel(*spelling->op, bind_module(*this, *spelling, in));
}

/// Names are unique in a module: a child and a parameter cannot have the same one.
void Module::check_name(const std::string& name, const std::string& kind) const {
  SPARSEBIT_CHECK(!name.empty() && name.find('.') == std::string::npos, InvalidArgument, type_,
                  ": a name inside a module cannot be empty or contain '.', got '", name, "'");
  const auto check = [&](const auto& items) {
    SPARSEBIT_CHECK(items.key_description() == kind || !items.contains(name), InvalidArgument,
                    type_, ": the name '", name, "' is taken by its ", items.key_description());
  };
  check(children_);
  check(parameters_);
  check(buffers_);
  check(attributes_);
}

Module& Module::add_module(const std::string& name, ModulePtr child) {
  check_name(name, children_.key_description());
  SPARSEBIT_CHECK(child, InvalidArgument, type_, ": the child '", name, "' is null");
  Module& added = *child;
  put(children_, name, std::move(child));
  return added;
}

Module& Module::child(std::string_view name) const {
  return *find_or_throw(children_, name, type_);
}

ModulePtr Module::find_module(std::string_view path) const {
  const size_t dot = path.find('.');
  const ModulePtr* found = children_.find(std::string(path.substr(0, dot)));
  if (!found) return nullptr;
  return dot == std::string_view::npos ? *found : (*found)->find_module(path.substr(dot + 1));
}

const Module* Module::find(std::string_view path) const {
  return path.empty() ? this : find_module(path).get();
}

Module* Module::find(std::string_view path) {
  return const_cast<Module*>(std::as_const(*this).find(path));
}

void Module::set_module(std::string_view path, ModulePtr module) {
  const size_t dot = path.find('.');
  const std::string name(path.substr(0, dot));
  if (dot == std::string_view::npos) {
    add_module(name, std::move(module));
    return;
  }
  if (!children_.contains(name)) add_module(name, std::make_shared<Module>("Module", Schema()));
  child(name).set_module(path.substr(dot + 1), std::move(module));
}

void Module::remove_module(std::string_view path) {
  const auto [parent, name] = split_path(path);
  Module* owner = find(parent);
  SPARSEBIT_CHECK(owner, InvalidArgument, type_, " has no module '", path, "'");
  find_or_throw(owner->children_, name, owner->type_);
  owner->children_.erase(name);
}

namespace {

/// One copy, because removing from an OrderedDict takes time that grows with its size.
template <class T>
void keep_only(torch::OrderedDict<std::string, T>& items,
               const std::unordered_set<std::string>& names) {
  torch::OrderedDict<std::string, T> kept;
  for (const auto& item : items) {
    if (names.contains(item.key())) kept.insert(item.key(), item.value());
  }
  if (kept.size() < items.size()) items = std::move(kept);
}

}  // namespace

void Module::keep_only(const std::unordered_set<std::string>& names) {
  fx::keep_only(children_, names);
  fx::keep_only(parameters_, names);
  fx::keep_only(buffers_, names);
}

namespace {

void collect_modules(Module& module, const std::string& path, Duplicates duplicates,
                     std::unordered_set<Module*>& seen,
                     std::vector<std::pair<std::string, Module*>>& out) {
  if (duplicates == Duplicates::Skip && !seen.insert(&module).second) return;
  out.emplace_back(path, &module);
  for (const auto& item : module.children()) {
    collect_modules(*item.value(), path.empty() ? item.key() : path + "." + item.key(), duplicates,
                    seen, out);
  }
}

}  // namespace

std::vector<std::pair<std::string, Module*>> Module::named_modules(Duplicates duplicates) {
  std::vector<std::pair<std::string, Module*>> result;
  std::unordered_set<Module*> seen;
  collect_modules(*this, "", duplicates, seen, result);
  return result;
}

void Module::add_parameter(const std::string& name, at::Tensor value, Grad grad) {
  check_name(name, parameters_.key_description());
  const bool differentiable = value.defined() && value.is_floating_point() && value.is_leaf();
  if (grad == Grad::Required && differentiable) value.requires_grad_();
  put(parameters_, name, std::move(value));
}

void Module::add_buffer(const std::string& name, at::Tensor value) {
  check_name(name, buffers_.key_description());
  put(buffers_, name, std::move(value));
}

void Module::set_attribute(const std::string& name, Value value) {
  check_name(name, attributes_.key_description());
  put(attributes_, name, std::move(value));
}

Value Module::parameter(std::string_view name) const {
  return Tracer::read(find_or_throw(parameters_, name, type_));
}

Value Module::buffer(std::string_view name) const {
  return Tracer::read(find_or_throw(buffers_, name, type_));
}

const Value& Module::attribute(std::string_view name) const {
  return find_or_throw(attributes_, name, type_);
}

const at::Tensor* Module::find_tensor(std::string_view path) const {
  const auto [parent, name] = split_path(path);
  const Module* owner = find(parent);
  if (!owner) return nullptr;
  if (const at::Tensor* found = owner->parameters_.find(name)) return found;
  return owner->buffers_.find(name);
}

const Value* Module::find_attribute(std::string_view path) const {
  const auto [parent, name] = split_path(path);
  const Module* owner = find(parent);
  return owner ? owner->attributes_.find(name) : nullptr;
}

void Module::train(bool on) {
  for (const auto& [path, module] : named_modules()) module->training_ = on;
}

std::string Module::describe() const {
  std::string text;
  for (const auto& item : attributes_) {
    text += (text.empty() ? "" : ", ") + item.key() + "=" + to_string(item.value());
  }
  for (const auto& item : parameters_) {
    if (!item.value().defined()) text += (text.empty() ? "" : ", ") + item.key() + "=None";
  }
  return type_ + "(" + text + ")";
}

namespace {

/// @param state  null: new tensors with the type's default initialization.
ModulePtr construct(const ModuleForm& form, std::span<const Value> args, const Kwargs& kwargs,
                    const ModuleState* state, Grad grad) {
  auto module = std::make_shared<Module>(form.type, form.forward);
  const Args constructor(form.constructor, form.constructor.bind(args, kwargs));
  if (state) {
    install_state(*module, *state, grad);
  } else if (form.init) {
    install_state(*module, form.init(constructor, c10::nullopt));
  }
  for (size_t i = 0; i < constructor.values().size(); ++i) {
    const std::string& name = form.constructor.parameters()[i].name;
    const bool is_parameter = module->own_parameters().contains(name);
    if (!is_parameter) module->set_attribute(name, constructor.values()[i]);
  }
  return module;
}

ModulePtr make(std::string_view type, std::span<const Value> args, const Kwargs& kwargs,
               const ModuleState* state, Grad grad) {
  const Spelling& spelling = operators().get(type);
  SPARSEBIT_CHECK(spelling.module, InvalidArgument, "'", type,
                  "' is a function, not a module type");
  return with_context([&] { return construct(*spelling.module, args, kwargs, state, grad); },
                      [&] { return "in the construction of " + spelling.module->type; });
}

}  // namespace

ModulePtr make_module(std::string_view type, std::span<const Value> args, const Kwargs& kwargs) {
  return make(type, args, kwargs, nullptr, Grad::Required);
}

ModulePtr make_module(std::string_view type, std::span<const Value> args, const Kwargs& kwargs,
                      const ModuleState& state, Grad grad) {
  return make(type, args, kwargs, &state, grad);
}

}  // namespace sparsebit::fx
