#include "export/certificate/quantized_facts.h"

#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_subgraphs.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace sparsebit::exports {
namespace {

using Constants = std::map<std::string, const onnx::TensorProto*>;

/// A constant's value; undefined if the tensor is computed or stored in an external data file.
at::Tensor constant(const Constants& constants, const std::string& name) {
  const auto it = constants.find(name);
  if (it == constants.end() || it->second->data_location() == onnx::TensorProto::EXTERNAL)
    return {};
  onnx::TensorProto copy = *it->second;
  io::ExternalData none;
  return io::take_tensor(copy, none);
}

/// Significant bits of a float's fraction, with the implicit leading one.
int significant_bits(float number) {
  constexpr uint32_t kFraction = (1u << 23) - 1;
  const uint32_t fraction = (std::bit_cast<uint32_t>(number) & kFraction) | (1u << 23);
  return 24 - std::countr_zero(fraction);
}

int most_significant_bits(const at::Tensor& scales) {
  const at::Tensor floats = scales.to(at::kFloat).contiguous();
  int most = 0;
  for (int64_t i = 0; i < floats.numel(); ++i)
    most = std::max(most, significant_bits(floats.data_ptr<float>()[i]));
  return most;
}

bool is_integer_operator(const std::string& type) {
  return type.starts_with("QLinear") || type == "QGemm" || type == "MatMulIntegerToFloat";
}

bool selects_boxes(const onnx::NodeProto& node) {
  bool found = node.op_type() == "NonMaxSuppression";
  io::for_each_graph(node, [&](const onnx::GraphProto& inner) {
    found |= std::any_of(inner.node().begin(), inner.node().end(),
                         [](const onnx::NodeProto& each) { return selects_boxes(each); });
  });
  return found;
}

/// Values that depend on a NonMaxSuppression. Nodes are topologically sorted.
std::set<std::string> selected_values(const onnx::GraphProto& graph) {
  std::set<std::string> selected;
  for (const onnx::NodeProto& node : graph.node()) {
    const bool depends = selects_boxes(node) ||
                         std::any_of(node.input().begin(), node.input().end(),
                                     [&](const auto& name) { return selected.contains(name); });
    if (depends) selected.insert(node.output().begin(), node.output().end());
  }
  return selected;
}

}  // namespace

const platforms::Platform* QuantizedFacts::platform() const {
  const platforms::PlatformPtr* known = platforms::platforms().find(backend);
  return known ? known->get() : nullptr;
}

bool QuantizedFacts::selects_boxes() const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const QuantizedOutput& output) { return output.selected; });
}

bool QuantizedFacts::sums_are_exact(const platforms::Platform* platform) const {
  constexpr int kFewBits = 4;  // SCALE_BITS in the platforms' configs
  return !has_integer_operators && platform && platform->exact_sums && scale_bits <= kFewBits;
}

QuantizedFacts quantized_facts(const onnx::ModelProto& model) {
  QuantizedFacts facts;
  const std::set<std::string> selected = selected_values(model.graph());
  Constants constants;
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    constants[tensor.name()] = &tensor;
  std::map<std::string, at::Tensor> scales;  // by the dequantized value's name
  for (const onnx::NodeProto& node : model.graph().node()) {
    facts.has_integer_operators |= is_integer_operator(node.op_type());
    if (node.op_type() != "DequantizeLinear") continue;
    facts.has_pairs = true;
    const at::Tensor scale = constant(constants, node.input(1));
    if (!scale.defined()) continue;
    scales[node.output(0)] = scale;
    const auto integers = constants.find(node.input(0));
    const bool is_bias =
        integers != constants.end() && integers->second->data_type() == onnx::TensorProto::INT32;
    if (!is_bias) facts.scale_bits = std::max(facts.scale_bits, most_significant_bits(scale));
  }
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    const auto scale = scales.find(output.name());
    const bool known = scale != scales.end() && scale->second.numel() == 1;
    facts.outputs.push_back({output.name(), known ? scale->second.item<double>() : 0,
                             selected.contains(output.name())});
  }
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() == "sparsebit.backend") facts.backend = entry.value();
  }
  return facts;
}

}  // namespace sparsebit::exports
