#include "deploy/formats/onnx_files.h"

#include "deploy/formats/onnx_bytes.h"

#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <algorithm>

namespace sparsebit::deploy {
namespace {

/// The oldest opset with the integer types: 21 for more than 8 bits.
int64_t opset_of(const quant::QuantModel& model) {
  const auto& points = model.points();
  const bool wide = std::any_of(points.begin(), points.end(), [](const quant::QuantPoint& point) {
    return !point.is_bias() && !point.quantizer->is_off_for_good() &&
           point.quantizer->spec().bits > 8;
  });
  return wide ? 21 : 13;
}

std::string quantized_onnx(const DeployModel& model, exports::QuantizedOnnxOptions::Form form) {
  exports::OnnxExportOptions options;
  options.opset = opset_of(model.quantized());
  options.quantized.form = form;
  return onnx_bytes(exports::to_onnx(model.quantized(), options));
}

}  // namespace

std::vector<DeployFile> write_onnx_clean(const DeployModel& model) {
  return {{model.name() + ".onnx", onnx_bytes(model.clean())}};
}

std::vector<DeployFile> write_onnx_qdq(const DeployModel& model) {
  return {{model.name() + "_qdq.onnx",
           quantized_onnx(model, exports::QuantizedOnnxOptions::Form::Pairs)}};
}

std::vector<DeployFile> write_onnx_qoperator(const DeployModel& model) {
  const platforms::Platform& platform = model.quantized().platform();
  SPARSEBIT_CHECK(platform.integer_operators, Unsupported,
                  "format 'onnx_qoperator': ", platform.name,
                  " has no integer operators; use onnx_qdq or the platform onnxruntime");
  return {{model.name() + "_qoperator.onnx",
           quantized_onnx(model, exports::QuantizedOnnxOptions::Form::Operators)}};
}

OnnxNumbers read_onnx_numbers(const std::string& content) {
  onnx::ModelProto model = io::parse_onnx(content, "onnx");
  OnnxNumbers found;
  io::ExternalData none;
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer())
    found.constants[tensor.name()] = io::take_tensor(tensor, none);
  for (const onnx::NodeProto& node : model.graph().node()) {
    ++found.operators[node.op_type()];
    if (node.op_type() == "QuantizeLinear")
      found.quantized[node.input(0)] = {found.constants.at(node.input(1)),
                                        found.constants.at(node.input(2))};
  }
  return found;
}

}  // namespace sparsebit::deploy
