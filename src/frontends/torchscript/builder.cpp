#include "frontends/torchscript/builder.h"

#include "frontends/torchscript/source_model.h"
#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {

using fx::Value;

Value GraphBuilder::create(fx::Opcode op, std::string target, std::vector<Value> args,
                           fx::Kwargs kwargs) {
  budget().spend(kStepsPerNode);
  for (Value& arg : args) arg = argument(arg);
  for (auto& [name, value] : kwargs) value = argument(value);
  fx::Node& node = graph_->create_node(op, std::move(target), std::move(args), std::move(kwargs));
  node.set_module_path(scope);
  return node;
}

Value GraphBuilder::function(std::string target, std::vector<Value> args, fx::Kwargs kwargs) {
  return create(fx::Opcode::CallFunction, std::move(target), std::move(args), std::move(kwargs));
}

Value GraphBuilder::method(std::string name, std::vector<Value> args, fx::Kwargs kwargs) {
  return create(fx::Opcode::CallMethod, std::move(name), std::move(args), std::move(kwargs));
}

Value GraphBuilder::module(std::string path, std::vector<Value> args, fx::Kwargs kwargs) {
  return create(fx::Opcode::CallModule, std::move(path), std::move(args), std::move(kwargs));
}

Value GraphBuilder::getitem(const Value& from, Value index) {
  return function("operator.getitem", {from, std::move(index)});
}

Value GraphBuilder::tensor_node(const at::Tensor& tensor) {
  const at::Tensor one = tensors_.canonical(tensor);
  fx::Node*& node = tensor_nodes_[one.unsafeGetTensorImpl()];
  if (!node) {
    node = &graph_->get_attr(tensors_.constant_path(one));
    node->set_module_path(scope);
  }
  return node;
}

Value GraphBuilder::argument(const Value& value) {
  if (value.is_tensor()) return tensor_node(value.get<at::Tensor>());
  if (value.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(argument(item));
    return value.is<fx::List>() ? Value(fx::List(std::move(items)))
                                : Value(fx::Tuple(std::move(items)));
  }
  if (value.is<fx::Dict>()) {
    fx::Dict dict = value.get<fx::Dict>();
    for (auto& [key, item] : dict.items) item = argument(item);
    return dict;
  }
  return value;
}

Value GraphBuilder::argument(const ScriptValue& datum) {
  if (datum.is_value()) return argument(datum.value());
  if (const ScriptValues* items = datum.items()) {
    std::vector<Value> values;
    for (const ScriptValue& item : *items) values.push_back(argument(item));
    return datum.is<ListRef>() ? Value(fx::List(std::move(values)))
                               : Value(fx::Tuple(std::move(values)));
  }
  if (datum.is<DictRef>()) {
    fx::Dict dict;
    for (const auto& [key, item] : *datum.get<DictRef>().items) {
      SPARSEBIT_CHECK(key.is_value() && key.value().is_string(), Unsupported,
                      "a dict with keys that are not strings cannot be part of a graph");
      dict.items.emplace_back(key.value().string(), argument(item));
    }
    return dict;
  }
  if (datum.is<Boxed>()) return function("torch.tensor", {datum.get<Boxed>().number});
  SPARSEBIT_CHECK(!datum.is<ObjectRef>(), Unsupported, "an object of class ",
                  datum.is<ObjectRef>() ? plain_name(datum.get<ObjectRef>().object->name()) : "",
                  " cannot be part of a graph");
  throw Error(ErrorKind::Unsupported, "a function or special value cannot be part of a graph");
}

}  // namespace sparsebit::frontends::torchscript
