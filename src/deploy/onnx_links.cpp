#include "deploy/onnx_links.h"

namespace sparsebit::deploy {
namespace {

template <class Value>
const Value* find(const std::map<std::string, const Value*>& all, const std::string& name) {
  const auto it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

}  // namespace

OnnxLinks::OnnxLinks(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) makers_[output] = &node;
    for (const std::string& input : node.input()) readers_[input].push_back(&node);
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) constants_[tensor.name()] = &tensor;
}

const onnx::NodeProto* OnnxLinks::maker(const std::string& tensor) const {
  return find(makers_, tensor);
}

const std::vector<const onnx::NodeProto*>& OnnxLinks::readers(const std::string& tensor) const {
  static const std::vector<const onnx::NodeProto*> none;
  const auto it = readers_.find(tensor);
  return it == readers_.end() ? none : it->second;
}

const onnx::TensorProto* OnnxLinks::constant(const std::string& tensor) const {
  return find(constants_, tensor);
}

int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, int64_t otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return otherwise;
}

}  // namespace sparsebit::deploy
