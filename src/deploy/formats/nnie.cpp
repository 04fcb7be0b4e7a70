#include "deploy/formats/nnie.h"

#include "deploy/format_limits.h"
#include "deploy/json_text.h"
#include "deploy/onnx_links.h"

#include <ATen/ATen.h>

#include <set>

namespace sparsebit::deploy {
namespace {

bool is_skipped(const onnx::NodeProto& node) {
  static const std::set<std::string> types = {
      "Flatten",      "Relu", "PRelu", "Sigmoid",           "Reshape", "Softmax",
      "CaffeSoftmax", "Clip", "Mul",   "GlobalAveragePool", "Shape"};
  const bool is_grouped = node.op_type() == "Conv" && int_attribute(node, "group", 1) > 1;
  return types.contains(node.op_type()) || is_grouped;
}

bool is_resize(const onnx::NodeProto& node) {
  return node.op_type() == "Resize" || node.op_type() == "Upsample";
}

}  // namespace

std::vector<DeployFile> write_nnie(const DeployModel& model) {
  std::map<std::string, double> largest;
  for (const TensorRange& range : ranges_within(model, {.format = "nnie", .logarithmic = true}))
    largest[range.tensor] = range.largest().item<double>();
  Json nodes = Json::object();
  int resized = 0;
  for (const onnx::NodeProto& node : model.clean().graph().node()) {
    if (is_skipped(node)) continue;
    std::vector<double> inputs;
    for (const std::string& input : node.input()) {
      if (const auto it = largest.find(input); it != largest.end()) inputs.push_back(it->second);
    }
    if (inputs.empty()) continue;
    nodes[node.name()] = inputs;
    if (is_resize(node)) nodes[node.name() + "_permute_" + std::to_string(resized++)] = inputs;
  }
  const Json json = {{"nnie", {{"gfpq_param_dict", nodes}}}};
  return {{model.name() + "_gfpq_param_dict.json", pretty(json)}};
}

std::map<std::string, std::vector<double>> read_nnie(const std::string& content) {
  return read_json(content, "nnie", [](const View& json) {
    std::map<std::string, std::vector<double>> found;
    for (const auto& [node, numbers] : json["nnie"]["gfpq_param_dict"].entries())
      found[node] = numbers.numbers();
    return found;
  });
}

}  // namespace sparsebit::deploy
