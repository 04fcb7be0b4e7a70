#include "deploy/find_ranges.h"

#include "deploy/clean_onnx.h"
#include "deploy/onnx_links.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/bias.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

namespace sparsebit::deploy {
namespace {

TensorKind kind_of(const quant::QuantPoint& point) {
  if (point.is_weight()) return TensorKind::Weight;
  return point.is_bias() ? TensorKind::Bias : TensorKind::Activation;
}

class RangeFinder {
 public:
  RangeFinder(const quant::QuantModel& model, const exports::NamedOnnx& clean)
      : model_(model), clean_(clean), links_(clean.model.graph()) {}

  std::vector<TensorRange> find() {
    for (const quant::QuantPoint& point : model_.points()) {
      if (!quant::stays_float(*point.quantizer)) add(point);
    }
    propagate_ranges(clean_.model.graph(), ranges_);
    std::stable_sort(ranges_.begin(), ranges_.end(),
                     [](const auto& a, const auto& b) { return a.kind < b.kind; });
    return std::move(ranges_);
  }

 private:
  void add(const quant::QuantPoint& point) {
    const auto name = clean_.tensors.find(quantized_node(point).name());
    if (name == clean_.tensors.end()) return;  // folded by the exporter
    const quant::QuantSpec& spec = point.quantizer->spec();
    const bool squeezes = point.is_activation() && point.quantizer->squeezes_by();
    SPARSEBIT_CHECK(!squeezes, Unsupported,
                    "activations quantized by dorefa have no range that a file can hold, ",
                    point.place());
    const quant::QParams found = point.quantizer->covering_qparams();
    TensorRange range{.tensor = name->second,
                      .kind = kind_of(point),
                      .scale = found.scale.to(at::kFloat),
                      .zero_point = found.zero_point,
                      .qmin = point.quantizer->has_uniform_steps() ? spec.qmin() : -spec.qmax(),
                      .qmax = spec.qmax(),
                      .bits = spec.bits,
                      .channel_axis = spec.channel_axis,
                      .uniform = point.quantizer->has_uniform_steps()};
    if (range.kind != TensorKind::Activation) follow_transpose(range);
    range.layer = layer_of(range);
    const bool known = std::any_of(ranges_.begin(), ranges_.end(), [&](const TensorRange& other) {
      return other.same_numbers(range);
    });
    if (!known) ranges_.push_back(std::move(range));
  }

  const fx::Node& quantized_node(const quant::QuantPoint& point) const {
    const fx::Node* quantizer = model_.module().graph().find(point.name);
    SPARSEBIT_CHECK(quantizer, Internal, "there is no node '", point.name, "'");
    return *quantizer->inputs().front();
  }

  /// Weights of MatMul are stored transposed.
  void follow_transpose(TensorRange& range) const {
    if (links_.constant(range.tensor) || !links_.constant(transposed_name(range.tensor))) return;
    range.tensor = transposed_name(range.tensor);
    range.channel_axis = 1 - range.channel_axis;
  }

  std::string layer_of(const TensorRange& range) const {
    if (range.kind == TensorKind::Activation) {
      const onnx::NodeProto* maker = links_.maker(range.tensor);
      return maker ? maker->name() : "";
    }
    const auto* readers = &links_.readers(range.tensor);
    while (!readers->empty() && readers->front()->op_type() == "Transpose")
      readers = &links_.readers(readers->front()->output(0));
    return readers->empty() ? "" : readers->front()->name();
  }

  const quant::QuantModel& model_;
  const exports::NamedOnnx& clean_;
  OnnxLinks links_;
  std::vector<TensorRange> ranges_;
};

}  // namespace

std::vector<TensorRange> find_ranges(const quant::QuantModel& model,
                                     const exports::NamedOnnx& clean) {
  return RangeFinder(model, clean).find();
}

void propagate_ranges(const onnx::GraphProto& graph, std::vector<TensorRange>& ranges) {
  static const std::set<std::string> copies = {"Flatten", "Reshape", "Resize"};
  const OnnxLinks links(graph);
  const auto range_of = [&](const std::string& tensor) {
    return std::find_if(ranges.begin(), ranges.end(),
                        [&](const TensorRange& range) { return range.tensor == tensor; });
  };
  for (int i = graph.node_size() - 1; i >= 0; --i) {  // from the end, through chains of copies
    const onnx::NodeProto& node = graph.node(i);
    if (!copies.contains(node.op_type()) || links.constant(node.input(0))) continue;
    const auto result = range_of(node.output(0));
    if (result == ranges.end() || result->is_per_channel()) continue;
    if (range_of(node.input(0)) != ranges.end()) continue;
    TensorRange range = *result;
    const onnx::NodeProto* maker = links.maker(node.input(0));
    range.tensor = node.input(0);
    range.layer = maker ? maker->name() : "";
    range.inherited = true;
    ranges.push_back(std::move(range));
  }
}

}  // namespace sparsebit::deploy
