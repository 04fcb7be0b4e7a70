#include "deploy/formats/stpu_minmax.h"

#include "deploy/format_limits.h"
#include "deploy/fused_relu.h"
#include "deploy/json_text.h"
#include "deploy/onnx_links.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {
namespace {

constexpr double kLargestInteger = 127;

Json min_max(double largest) { return {{"min", -largest}, {"max", largest}}; }

class StpuWriter {
 public:
  explicit StpuWriter(const DeployModel& model) : graph_(model.clean().graph()), links_(graph_) {
    for (const TensorRange& range : ranges_within(model, {.format = "stpu_minmax"})) {
      const double scale = range.scale.item<double>();
      if (range.kind == TensorKind::Activation) {
        largest_[range.tensor] = kLargestInteger * scale;
      } else {
        weights_.emplace_back(range.layer, scale);
      }
    }
  }

  Json write() {
    for (int i = graph_.node_size() - 1; i >= 0; --i) unify_concat(graph_.node(i));
    for (const onnx::NodeProto& node : graph_.node()) {
      if (node.op_type() == "Sigmoid") largest_[node.output(0)] = 1;
    }
    for (const auto& [relu, convolution] : convolutions_before_relu(graph_)) {
      if (largest_.contains(relu)) largest_[convolution] = largest_[relu];
    }
    for (const auto& [tensor, largest] : largest_) json_[tensor] = min_max(largest);
    for (const onnx::NodeProto& node : graph_.node()) write_layer(node);
    return json_;
  }

 private:
  void unify_concat(const onnx::NodeProto& node) {
    if (node.op_type() != "Concat" || !largest_.contains(node.output(0))) return;
    for (const std::string& input : node.input()) {
      if (!links_.constant(input)) largest_[input] = largest_[node.output(0)];
    }
  }

  void write_layer(const onnx::NodeProto& node) {
    for (const auto& [layer, scale] : weights_) {
      if (layer != node.name()) continue;
      json_[layer + "_weights"] = min_max(kLargestInteger * scale);
      const auto input = largest_.find(node.input(0));
      if (node.input_size() < 3 || input == largest_.end()) continue;
      json_[layer + "_bias"] = {{"alpha", scale * input->second / kLargestInteger},
                                {"zero_point", 0}};
    }
  }

  const onnx::GraphProto& graph_;
  OnnxLinks links_;
  std::map<std::string, double> largest_;                // magnitude, by tensor
  std::vector<std::pair<std::string, double>> weights_;  // scales by node
  Json json_ = Json::object();
};

}  // namespace

std::vector<DeployFile> write_stpu_minmax(const DeployModel& model) {
  return {{model.name() + "_stpu_minmax.json", pretty(StpuWriter(model).write())}};
}

StpuRanges read_stpu_minmax(const std::string& content) {
  return read_json(content, "stpu_minmax", [](const View& json) {
    StpuRanges found;
    for (const auto& [key, entry] : json.entries()) {
      if (entry.find("alpha")) {
        found.biases[key] = entry["alpha"].number();
      } else {
        found.tensors[key] = {entry["min"].number(), entry["max"].number()};
      }
    }
    return found;
  });
}

}  // namespace sparsebit::deploy
