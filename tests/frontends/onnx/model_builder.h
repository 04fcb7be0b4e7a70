#pragma once

#include "sparsebit/fx/graph_module.h"

#include <ATen/core/Tensor.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sparsebit::test {

/// An attribute of an ONNX node.
struct Attribute {
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string>, at::Tensor>
      value;
};

/// Writes small ONNX models:
///
///     ModelBuilder(13).input("x", {2, -1}).node("Relu", {"x"}, {"y"}).output("y").import()
class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset);

  /// A size of -1 is dynamic.
  ModelBuilder& input(const std::string& name, const std::vector<int64_t>& shape,
                      at::ScalarType dtype = at::kFloat);
  ModelBuilder& constant(const std::string& name, const at::Tensor& value);
  ModelBuilder& node(const std::string& type, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<Attribute>& attributes = {});
  ModelBuilder& output(const std::string& name);

  /// For features without a method of this class.
  onnx::ModelProto& model() { return model_; }
  onnx::ModelProto build() const { return model_; }
  std::unique_ptr<fx::GraphModule> import() const;

 private:
  onnx::ModelProto model_;
};

/// A model from ONNX's own text form:
///
///     model_from_text("(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }", 13)
///
/// That form has no dots in names: two underscores stand for one.
onnx::ModelProto model_from_text(const std::string& graph, int opset = 13);

/// The results of the model for these inputs, in the order of its outputs.
std::vector<at::Tensor> run(fx::GraphModule& module, const std::vector<at::Tensor>& inputs);

/// The targets of a model's nodes, in order: functions, "Tensor." methods and types of layers.
std::vector<std::string> calls(const fx::GraphModule& module);

/// The graph, a line for each node.
std::string text_of(const fx::GraphModule& module);

/// The error message of the import; empty when it succeeds.
std::string import_error(const ModelBuilder& builder);

}  // namespace sparsebit::test
