#include "deploy/formats/ncnn_table.h"

#include "deploy/format_limits.h"
#include "deploy/number_text.h"
#include "deploy/onnx_links.h"
#include "deploy/text_lines.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {
namespace {

constexpr const char* kWeights = "_param_0";

/// The number of scales that ncnn expects for a layer's weight; 0 if ncnn has no int8 form of it.
int64_t scales_of_layer(const onnx::NodeProto& node, const onnx::TensorProto& weight) {
  const int64_t groups = int_attribute(node, "group", 1);
  if (node.op_type() == "Conv") return groups > 1 ? groups : weight.dims(0);
  const bool is_linear = node.op_type() == "Gemm" && int_attribute(node, "transB", 0) == 1;
  return is_linear ? weight.dims(0) : 0;
}

/// The scales of a weight, `count` of them.
at::Tensor scales_of(const TensorRange& weight, int64_t count) {
  if (!weight.is_per_channel()) return weight.scale.expand({count});
  SPARSEBIT_CHECK(weight.scale.size(0) == count, Unsupported, "format 'ncnn_table': weight '",
                  weight.tensor, "': expected one scale for each of the ", count,
                  " groups, found one for each of ", weight.scale.size(0), " channels");
  return weight.scale;
}

}  // namespace

std::vector<DeployFile> write_ncnn_table(const DeployModel& model) {
  const OnnxLinks links(model.clean().graph());
  std::map<std::string, TensorRange> ranges;
  for (TensorRange& range : ranges_within(model, {.format = "ncnn_table", .channels = true}))
    ranges.emplace(range.tensor, range);
  std::string weights, inputs;
  for (const onnx::NodeProto& node : model.clean().graph().node()) {
    if (node.input_size() < 2) continue;
    const auto input = ranges.find(node.input(0)), weight = ranges.find(node.input(1));
    const onnx::TensorProto* constant = links.constant(node.input(1));
    if (input == ranges.end() || weight == ranges.end() || !constant) continue;
    const int64_t count = scales_of_layer(node, *constant);
    if (count == 0) continue;
    weights += node.name() + kWeights;
    const at::Tensor scales = (1 / scales_of(weight->second, count)).contiguous();
    for (int64_t i = 0; i < count; ++i) weights += " " + number_text(scales[i].item<float>());
    weights += "\n";
    inputs += node.name() + " " + number_text(1 / input->second.scale.item<float>()) + "\n";
  }
  return {{model.name() + ".table", weights + inputs}};
}

NcnnTable read_ncnn_table(const std::string& content) {
  NcnnTable table;
  for (const Words& words : words_of_lines(content)) {
    std::vector<float> scales;
    for (size_t i = 1; i < words.size(); ++i) scales.push_back(float_of(words[i], "ncnn_table"));
    SPARSEBIT_CHECK(!scales.empty(), InvalidModel, "ncnn_table: '", words[0], "' has no scale");
    if (words[0].ends_with(kWeights)) {
      table.weights[words[0].substr(0, words[0].size() - std::string(kWeights).size())] = scales;
    } else {
      table.inputs[words[0]] = scales.front();
    }
  }
  return table;
}

}  // namespace sparsebit::deploy
