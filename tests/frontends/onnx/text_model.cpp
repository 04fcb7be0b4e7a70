#include "frontends/onnx/text_model.h"

#include <onnx/defs/parser.h>

#include <stdexcept>

namespace sparsebit::test {

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

}  // namespace sparsebit::test
