#include "frontends/torchscript/opaque_module.h"

#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/script_value.h"
#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {
namespace {

fx::Schema method_schema(const torch::jit::Module& module, const std::string& method) {
  std::vector<fx::Parameter> parameters;
  const std::vector<c10::Argument>& arguments =
      module.get_method(method).function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {  // without self
    fx::Parameter parameter{.name = arguments[i].name()};
    if (arguments[i].default_value())
      parameter.default_value = to_value(*arguments[i].default_value());
    parameters.push_back(std::move(parameter));
  }
  return fx::Schema(std::move(parameters));
}

/// Copies the tensors and modes of our module tree to the TorchScript objects.
void synchronize(const fx::Module& from, torch::jit::Module to) {
  if (to.hasattr("training")) to.setattr("training", from.is_training());
  for (const fx::NamedTensors* tensors : {&from.own_parameters(), &from.own_buffers()}) {
    for (const auto& item : *tensors) {
      if (item.value().defined()) to.setattr(item.key(), item.value());
    }
  }
  for (const auto& item : from.children()) {
    synchronize(*item.value(), torch::jit::Module(to.attr(item.key()).toObject()));
  }
}

}  // namespace

OpaqueModule::OpaqueModule(torch::jit::Module module, std::string method, const fx::Module& mirror)
    : Cloneable(last_part(class_name(module)), method_schema(module, method)),
      module_(std::move(module)),
      method_(std::move(method)) {
  set_training(mirror.is_training());
  for (const auto& item : mirror.own_parameters())
    add_parameter(item.key(), item.value(), fx::Grad::AsGiven);
  for (const auto& item : mirror.own_buffers()) add_buffer(item.key(), item.value());
  for (const auto& item : mirror.children()) add_module(item.key(), item.value());
}

OpaqueModule::OpaqueModule(const OpaqueModule& other)
    : Cloneable(other), module_(other.module_.copy()), method_(other.method_) {}

fx::Value OpaqueModule::forward(const fx::Args& in) {
  synchronize(*this, module_);
  const torch::jit::Method method = module_.get_method(method_);
  const std::vector<c10::Argument>& arguments = method.function().getSchema().arguments();
  std::vector<c10::IValue> inputs;
  for (size_t i = 0; i < in.values().size(); ++i)
    inputs.push_back(to_ivalue(in.values()[i], arguments[i + 1].type()));
  try {
    return to_value(method(std::move(inputs)));
  } catch (const c10::Error& e) {
    throw Error(ErrorKind::InvalidArgument, type() + ": " + first_line(e));
  }
}

}  // namespace sparsebit::frontends::torchscript
