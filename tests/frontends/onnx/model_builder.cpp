#include "frontends/onnx/model_builder.h"

#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <onnx/defs/parser.h>

#include <stdexcept>

namespace sparsebit::test {
namespace {

using onnx::AttributeProto;

void set(AttributeProto& to, int64_t value) {
  to.set_type(AttributeProto::INT);
  to.set_i(value);
}
void set(AttributeProto& to, double value) {
  to.set_type(AttributeProto::FLOAT);
  to.set_f(static_cast<float>(value));
}
void set(AttributeProto& to, const std::string& value) {
  to.set_type(AttributeProto::STRING);
  to.set_s(value);
}
void set(AttributeProto& to, const std::vector<int64_t>& values) {
  to.set_type(AttributeProto::INTS);
  for (const int64_t value : values) to.add_ints(value);
}
void set(AttributeProto& to, const std::vector<double>& values) {
  to.set_type(AttributeProto::FLOATS);
  for (const double value : values) to.add_floats(static_cast<float>(value));
}
void set(AttributeProto& to, const std::vector<std::string>& values) {
  to.set_type(AttributeProto::STRINGS);
  for (const std::string& value : values) to.add_strings(value);
}
void set(AttributeProto& to, const at::Tensor& value) {
  to.set_type(AttributeProto::TENSOR);
  *to.mutable_t() = io::to_tensor_proto(value, "");
}

}  // namespace

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("graph");
}

ModelBuilder& ModelBuilder::input(const std::string& name, const std::vector<int64_t>& shape,
                                  at::ScalarType dtype) {
  onnx::ValueInfoProto& input = *model_.mutable_graph()->add_input();
  input.set_name(name);
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(io::onnx_type_of(dtype));
  type.mutable_shape();
  for (const int64_t size : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (size >= 0) dim.set_dim_value(size);
  }
  return *this;
}

ModelBuilder& ModelBuilder::constant(const std::string& name, const at::Tensor& value) {
  *model_.mutable_graph()->add_initializer() = io::to_tensor_proto(value, name);
  return *this;
}

ModelBuilder& ModelBuilder::node(const std::string& type, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::vector<Attribute>& attributes) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(type);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const Attribute& attribute : attributes) {
    AttributeProto& proto = *node.add_attribute();
    proto.set_name(attribute.name);
    std::visit([&](const auto& value) { set(proto, value); }, attribute.value);
  }
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  model_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

std::unique_ptr<fx::GraphModule> ModelBuilder::import() const {
  return frontends::import_onnx(build());
}

onnx::ModelProto model_from_text(const std::string& graph, int opset) {
  const std::string text = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                           ", \"custom.ops\" : 3]> model " + graph;
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      for (size_t i = name.find("__"); i != std::string::npos; i = name.find("__")) {
        name.replace(i, 2, ".");
      }
    }
  }
  return model;
}

std::vector<at::Tensor> run(fx::GraphModule& module, const std::vector<at::Tensor>& inputs) {
  fx::Interpreter interpreter(module, fx::RunMode::Inference);
  const fx::Value result = interpreter.run({inputs.begin(), inputs.end()});
  return result.is_sequence() ? result.tensors() : std::vector{result.tensor()};
}

std::vector<std::string> calls(const fx::GraphModule& module) {
  std::vector<std::string> targets;
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.op() == fx::Opcode::CallFunction) targets.push_back(node.target());
    if (node.op() == fx::Opcode::CallMethod) targets.push_back("Tensor." + node.target());
    if (node.op() == fx::Opcode::CallModule) {
      targets.push_back(module.find_module(node.target())->type());
    }
  }
  return targets;
}

std::string text_of(const fx::GraphModule& module) {
  std::string text;
  for (const fx::Node& node : module.graph().nodes()) text += to_string(node) + "\n";
  return text;
}

std::string import_error(const ModelBuilder& builder) {
  try {
    builder.import();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace sparsebit::test
