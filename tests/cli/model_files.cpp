#include "cli/model_files.h"

#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <torch/script.h>

#include <string>
#include <vector>

namespace sparsebit::cli::test {
namespace {

onnx::ModelProto new_model(int64_t opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

void add_node(onnx::GraphProto& graph, const char* type, const std::vector<const char*>& inputs,
              const char* output, const char* domain = "") {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  node.set_domain(domain);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(output);
}

/// @param dims  numbers or symbols.
void set_type(onnx::ValueInfoProto& info, const char* name, int type,
              const std::vector<std::string>& dims) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& dim : dims) {
    const bool number = dim.find_first_not_of("0123456789") == std::string::npos;
    auto& added = *tensor.mutable_shape()->add_dim();
    number ? added.set_dim_value(std::stoll(dim)) : added.set_dim_param(dim);
  }
}

void save_scripted(const std::filesystem::path& path, const char* code) {
  torch::jit::Module module("Tiny");
  module.define(code);
  module.eval();
  module.save(path.string());
}

}  // namespace

void save_onnx_model(const std::filesystem::path& path, int64_t opset) {
  onnx::ModelProto model = new_model(opset);
  onnx::GraphProto& graph = *model.mutable_graph();
  *graph.add_initializer() = io::to_tensor_proto(at::tensor({1.f, 2.f, 3.f}), "bias");
  add_node(graph, "Add", {"x", "bias"}, "y");
  add_node(graph, "Add", {"ids", "ids"}, "sum/out");
  set_type(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"batch", "3"});
  set_type(*graph.add_input(), "ids", onnx::TensorProto::INT64, {"batch"});
  set_type(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"batch", "3"});
  set_type(*graph.add_output(), "sum/out", onnx::TensorProto::INT64, {"batch"});
  io::save_onnx(model, path);
}

void save_byte_image_model(const std::filesystem::path& path) {
  onnx::ModelProto model = new_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  const at::Tensor weight = at::randn({5, 3, 3, 3}, at::detail::createCPUGenerator(1)) / 255;
  *graph.add_initializer() = io::to_tensor_proto(weight, "w");
  add_node(graph, "Cast", {"image"}, "numbers");
  onnx::AttributeProto& type = *graph.mutable_node(0)->add_attribute();
  type.set_name("to");
  type.set_type(onnx::AttributeProto::INT);
  type.set_i(onnx::TensorProto::FLOAT);
  add_node(graph, "Transpose", {"numbers"}, "channels");
  onnx::AttributeProto& order = *graph.mutable_node(1)->add_attribute();
  order.set_name("perm");
  order.set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : {0, 3, 1, 2}) order.add_ints(axis);
  add_node(graph, "Conv", {"channels", "w"}, "features");
  add_node(graph, "GlobalAveragePool", {"features"}, "pooled");
  add_node(graph, "Flatten", {"pooled"}, "scores");
  set_type(*graph.add_input(), "image", onnx::TensorProto::UINT8, {"1", "24", "24", "3"});
  set_type(*graph.add_output(), "scores", onnx::TensorProto::FLOAT, {"1", "5"});
  io::save_onnx(model, path);
}

void save_custom_model(const std::filesystem::path& path) {
  onnx::ModelProto model = new_model();
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("com.acme");
  opset.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Foo", {"x"}, "y", "com.acme");
  set_type(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  set_type(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  io::save_onnx(model, path);
}

void save_odd_model(const std::filesystem::path& path) {
  onnx::ModelProto model = new_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Resize", {"x", "", "scales"}, "y");
  onnx::AttributeProto& odd = *graph.mutable_node(0)->add_attribute();
  odd.set_name("sharpness");
  odd.set_type(onnx::AttributeProto::INT);
  odd.set_i(3);
  *graph.add_initializer() = io::to_tensor_proto(at::tensor({2.f}), "scales");
  set_type(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  set_type(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"4"});
  io::save_onnx(model, path);
}

void save_model_of_names(const std::filesystem::path& path, const std::string& name) {
  onnx::ModelProto model = new_model();
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain(name);
  opset.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::string sum = name + "/sum", result = name + "/result";
  add_node(graph, "Add", {name.c_str(), name.c_str()}, sum.c_str());
  add_node(graph, name.c_str(), {sum.c_str()}, result.c_str(), name.c_str());
  for (onnx::NodeProto& node : *graph.mutable_node()) node.set_name(name + "/node");
  set_type(*graph.add_input(), name.c_str(), onnx::TensorProto::FLOAT, {"2"});
  set_type(*graph.add_output(), sum.c_str(), onnx::TensorProto::FLOAT, {"2"});
  set_type(*graph.add_output(), result.c_str(), onnx::TensorProto::FLOAT, {name});
  io::save_onnx(model, path);
}

void save_reshape_model(const std::filesystem::path& path) {
  onnx::ModelProto model = new_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Reshape", {"x", "shape"}, "y");
  set_type(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"6"});
  set_type(*graph.add_input(), "shape", onnx::TensorProto::INT64, {"2"});
  set_type(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"n", "m"});
  io::save_onnx(model, path);
}

void save_torchscript_model(const std::filesystem::path& path) {
  save_scripted(path, "def forward(self, x):\n  return torch.relu(x) + 1\n");
}

void save_dict_model(const std::filesystem::path& path) {
  save_scripted(path, "def forward(self, x):\n  return {'logits': x + 1, 'x': x * 2}\n");
}

void save_fixed_size_model(const std::filesystem::path& path) {
  save_scripted(path, "def forward(self, x):\n  return torch.matmul(x, torch.ones([6, 2]))\n");
}

void save_size_model(const std::filesystem::path& path) {
  save_scripted(path,
                "def forward(self, x):\n  if x.size(0) > 1:\n    return torch.relu(x)\n"
                "  return torch.sigmoid(x)\n");
}

}  // namespace sparsebit::cli::test
