#include "deploy/formats/openvino_fq.h"

#include "deploy/formats/onnx_bytes.h"
#include "deploy/onnx_links.h"

#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::vector<DeployFile> write_openvino_fq(const DeployModel& model) {
  exports::OnnxExportOptions options;
  options.quantized.form = exports::QuantizedOnnxOptions::Form::FakeQuantize;
  return {
      {model.name() + "_openvino.onnx", onnx_bytes(exports::to_onnx(model.quantized(), options))}};
}

std::map<std::string, OpenVinoRange> read_openvino_fq(const std::string& content) {
  onnx::ModelProto model = io::parse_onnx(content, "openvino_fq");
  std::map<std::string, at::Tensor> constants;
  io::ExternalData none;
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer())
    constants[tensor.name()] = io::take_tensor(tensor, none);
  std::map<std::string, OpenVinoRange> found;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() != "FakeQuantize") continue;
    const bool is_plain = node.input_size() == 5 && node.input(1) == node.input(3) &&
                          node.input(2) == node.input(4) && constants.contains(node.input(1)) &&
                          constants.contains(node.input(2));
    SPARSEBIT_CHECK(is_plain, InvalidModel, "openvino_fq: '", node.name(),
                    "': expected constant ranges, the same for input and output");
    found[node.output(0)] = {constants[node.input(1)], constants[node.input(2)],
                             int_attribute(node, "levels", 0)};
  }
  return found;
}

}  // namespace sparsebit::deploy
