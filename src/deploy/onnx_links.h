#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Producer and consumers of each tensor of an ONNX graph. Points into the graph.
class OnnxLinks {
 public:
  explicit OnnxLinks(const onnx::GraphProto& graph);

  /// Null for inputs of the model and for constants.
  const onnx::NodeProto* maker(const std::string& tensor) const;
  const std::vector<const onnx::NodeProto*>& readers(const std::string& tensor) const;
  /// The initializer of this name; null if there is none.
  const onnx::TensorProto* constant(const std::string& tensor) const;

 private:
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::map<std::string, const onnx::TensorProto*> constants_;
};

/// An integer attribute; `otherwise` if the node does not have it.
int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, int64_t otherwise);

}  // namespace sparsebit::deploy
