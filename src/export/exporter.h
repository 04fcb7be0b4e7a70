#pragma once

#include "export/converter.h"
#include "export/shape_facts.h"

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/regions/integer_regions.h"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::exports {

/// Writes the nodes of one graph, in order.
class Exporter : public ValueSource {
 public:
  Exporter(const fx::GraphModule& module, const OnnxExportOptions& options);

  /// The finished graph, with inputs, outputs and initializers.
  void write(onnx::GraphProto& graph);
  /// Opset versions of the domains other than ONNX's own.
  const std::map<std::string, int64_t>& domains() const { return domains_; }
  /// Names in the finished graph of the results that are tensors, by node name.
  std::map<std::string, std::string> tensor_names() const;
  bool carries_unknown_operators() const { return carries_unknown_; }

  NodeResult value_of(const fx::Node& node) override;
  std::string path_of(const at::Tensor& tensor) const override;
  bool used_once(const at::Tensor& tensor) const override;

 private:
  void index_model();
  void name_values();
  void write_node(const fx::Node& node);
  NodeResult convert(const fx::Node& node);
  NodeResult convert_call(const fx::Node& node, const fx::OperatorCall& call);
  std::optional<NodeResult> fold(const fx::Node& node, const fx::OperatorCall& call);
  NodeResult read_attribute(const fx::Node& node);
  void name_result(const fx::Node& node, NodeResult& result);
  void name_items(const fx::Node& node, NodeResult& result);
  void apply_fact(const Fact& fact, NodeResult& value, const fx::Node& node);

  // Changes in place, see in_place.cpp.
  void keep_type(const fx::Node& node, const fx::OperatorCall& call, NodeResult& result);
  void store_change(const fx::Node& node, const fx::OperatorCall& call, NodeResult result);
  void write_back(const fx::Node& view, const OnnxTensor& content, const fx::Node& by);
  std::optional<OnnxTensor> base_after_write(const fx::Node& view, const OnnxTensor& content);
  void check_not_read_again(const fx::Node& view, const fx::Node& base, const fx::Node& by) const;
  std::unordered_set<const fx::Node*> bases_of(const fx::Node& node) const;
  void refresh_views(const fx::Node& changed, const fx::Node& by);
  std::vector<const fx::Node*> sharing_memory(const fx::Node& node) const;
  bool used_after(const fx::Node& node, const fx::Node& by) const;

  // ONNX operators without a torch counterpart, see onnx_operator.cpp, and unknown operators, see
  // onnx_passthrough.cpp.
  NodeResult write_onnx_operator(const fx::Node& node, const fx::OperatorCall& call);
  NodeResult carry_through(const fx::Node& node);
  OnnxTensor carried_input(const fx::Node& node, const fx::Value& value);
  void check_carried_opsets(const fx::Node& node, const onnx::NodeProto& proto);
  void check_carried_opset(const fx::Node& node, const std::string& type, int64_t opset);

  // Quantizers, see quantization.cpp and fake_quantize.cpp.
  NodeResult write_quantizer(const fx::Node& node, const quant::Quantizer& quantizer);
  NodeResult write_activation_quantizer(const fx::Node& node, const quant::Quantizer& quantizer,
                                        OnnxTensor x);
  NodeResult write_fake_quantize(const fx::Node& node, const quant::Quantizer& quantizer,
                                 const OnnxTensor& x);
  NodeResult write_weight_quantizer(const fx::Node& node, const quant::Quantizer& quantizer,
                                    const at::Tensor& weight);
  Attrs extra_attributes(const quant::QuantSpec& spec) const;
  bool writes_fake_quantize() const {
    return options_.quantized.form == QuantizedOnnxOptions::Form::FakeQuantize;
  }

  // Inputs and outputs.
  struct Result {
    std::string wish;
    NodeResult value;
    const Fact* fact = nullptr;
  };
  void write_inputs(onnx::GraphProto& graph);
  void collect_results(const fx::Value& value, std::vector<Result>& results);
  std::string write_output(onnx::GraphProto& graph, const Result& result);

  const fx::GraphModule& module_;
  const OnnxExportOptions& options_;
  ShapeFacts facts_;
  GraphWriter writer_;
  std::unordered_map<const fx::Node*, NodeResult> values_;
  std::unordered_map<const fx::Node*, std::string> value_names_;
  std::unordered_map<const fx::Node*, size_t> position_;
  std::unordered_map<const c10::TensorImpl*, std::string> tensor_paths_;
  std::unordered_map<const c10::TensorImpl*, int64_t> tensor_uses_;
  std::vector<std::string> output_names_;
  std::unordered_set<std::string> taken_outputs_;
  std::map<std::string, int64_t> domains_;
  bool carries_unknown_ = false;
  quant::IntegerRegions regions_;
  std::unordered_map<const quant::Quantizer*, std::pair<OnnxTensor, OnnxTensor>>
      scales_;  // and zero points
};

}  // namespace sparsebit::exports
