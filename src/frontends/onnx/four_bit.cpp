#include "frontends/onnx/four_bit.h"

#include "frontends/onnx/domains.h"
#include "frontends/onnx/graph_builder.h"

#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_subgraphs.h"
#include "sparsebit/io/onnx_tensor.h"

#include <set>

namespace sparsebit::frontends {
namespace {

fx::Value cast(GraphBuilder& builder, const fx::Value& value, int type, const OperatorSets& sets) {
  return builder.call(
      fx::Opcode::CallFunction, "onnx.Cast", {value},
      {{"to", int64_t{type}}, {"_opset", sets.version("")}, {"_outputs", int64_t{1}}});
}

/// The element type stated by an attribute of the node, or of the constant in an attribute.
int type_in_attributes(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    const bool asks = (node.op_type() == "Cast" && name == "to") ||
                      (node.op_type() == "QuantizeLinear" && name == "output_dtype");
    if (asks) return static_cast<int>(attribute.i());
    if (node.op_type() == "ConstantOfShape" && name == "value") return attribute.t().data_type();
  }
  return 0;
}

/// The input that has the same type as the result; -1 when there is none.
int input_of_same_type(const std::string& type) {
  if (type == "QuantizeLinear") return 2;
  if (type == "CastLike") return 1;
  return moves_elements(type) || type == "Pad" ? 0 : -1;
}

/// The type of result i according to the branches of an If.
int type_in_subgraphs(const onnx::NodeProto& node, int i) {
  int type = 0;
  if (node.op_type() != "If") return type;
  io::for_each_graph(node, [&](const onnx::GraphProto& graph) {
    if (i >= graph.output_size()) return;
    type = std::max(type, graph.output(i).type().tensor_type().elem_type());
  });
  return type;
}

}  // namespace

bool reads_shape_only(const std::string& type) { return type == "Shape" || type == "Size"; }

bool moves_elements(const std::string& type) {
  static const std::set<std::string> types = {"Flatten", "Identity",  "Reshape",
                                              "Squeeze", "Transpose", "Unsqueeze"};
  return types.contains(type);
}

bool takes_four_bits(const std::string& type) {
  static const std::set<std::string> types = {"Cast", "DequantizeLinear"};
  return types.contains(type) || reads_shape_only(type) || moves_elements(type);
}

int packed_type(const GraphBuilder& builder, const onnx::NodeProto& node, int i) {
  if (io::is_default_domain(node.domain())) {
    const int stated = std::max(type_in_attributes(node), type_in_subgraphs(node, i));
    if (stated != 0) return io::is_four_bit(stated) ? stated : 0;
    const int input = input_of_same_type(node.op_type());
    const bool has_input = input >= 0 && input < node.input_size();
    if (has_input && i == 0) return builder.four_bit_type(node.input(input));
  }
  return builder.four_bit_type(node.output(i));  // as the file declares it
}

fx::Value packed(GraphBuilder& builder, const std::string& name, const fx::Value& value,
                 const OperatorSets& sets) {
  const int type = builder.four_bit_type(name);
  return type == 0 || builder.is_packed(name) ? value : cast(builder, value, type, sets);
}

fx::Value unpacked(GraphBuilder& builder, const std::string& name, const OperatorSets& sets) {
  const at::ScalarType dtype = *io::scalar_type_of(builder.four_bit_type(name));
  return cast(builder, builder.find(name)->value, io::onnx_type_of(dtype), sets);
}

}  // namespace sparsebit::frontends
