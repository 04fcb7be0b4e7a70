#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Which node of an ONNX graph makes a tensor and which read it. Points into the graph.
class OnnxLinks {
 public:
  explicit OnnxLinks(const onnx::GraphProto& graph);

  /// Null for inputs of the model and for constants.
  const onnx::NodeProto* maker(const std::string& tensor) const;
  const std::vector<const onnx::NodeProto*>& readers(const std::string& tensor) const;
  /// Null when it is none.
  const onnx::TensorProto* constant(const std::string& tensor) const;

 private:
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::map<std::string, const onnx::TensorProto*> constants_;
};

/// An attribute of whole numbers, `otherwise` where the node has none.
int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, int64_t otherwise);

}  // namespace sparsebit::deploy
