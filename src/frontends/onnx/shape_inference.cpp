#include "frontends/onnx/shape_inference.h"

#include "frontends/onnx/graph_builder.h"

#include <ATen/ATen.h>
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include <set>

namespace sparsebit::frontends {
namespace {

constexpr int64_t kNewestKnown = 17;        // operator set of the packaged ONNX library
constexpr int64_t kLargestConstant = 1024;  // elements; shapes depend on small constants only

onnx::TypeProto type_proto_of(const fx::TensorInfo& info) {
  onnx::TypeProto type;
  onnx::TypeProto::Tensor& tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(io::onnx_type_of(info.dtype));
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  for (size_t i = 0; i < info.shape.size(); ++i) {
    onnx::TensorShapeProto::Dimension& dim = *shape.add_dim();
    if (info.shape[i] >= 0) {
      dim.set_dim_value(info.shape[i]);
    } else if (i < info.symbols.size() && !info.symbols[i].empty()) {
      dim.set_dim_param(info.symbols[i]);
    }
  }
  return type;
}

/// What ONNX's rules ask about one node.
class NodeContext : public onnx::InferenceContext {
 public:
  NodeContext(const onnx::NodeProto& node, const GraphBuilder& known)
      : node_(node), outputs_(static_cast<size_t>(node.output_size())) {
    for (const std::string& name : node.input()) add_input(name, known);
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const onnx::AttributeProto& attribute : node_.attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  }
  size_t getNumInputs() const override { return types_.size(); }
  const onnx::TypeProto* getInputType(size_t i) const override { return get(types_, i); }
  const onnx::TensorProto* getInputData(size_t i) const override { return get(constants_, i); }
  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override {
    return get(symbolic_, i);
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t i) override {
    return i < outputs_.size() ? &outputs_[i] : nullptr;
  }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    return nullptr;
  }

 private:
  template <class T>
  static const T* get(const std::vector<std::optional<T>>& items, size_t i) {
    return i < items.size() && items[i] ? &*items[i] : nullptr;
  }

  void add_input(const std::string& name, const GraphBuilder& known) {
    types_.emplace_back();
    constants_.emplace_back();
    symbolic_.emplace_back();
    const Operand* operand = name.empty() ? nullptr : known.find(name);
    if (!operand) return;
    if (const fx::TensorInfo* info = known.info(name)) types_.back() = type_proto_of(*info);
    if (operand->is_constant()) {
      const at::Tensor& tensor = operand->value.tensor();
      types_.back() = type_proto_of({tensor.sizes().vec(), tensor.scalar_type()});
      if (tensor.numel() <= kLargestConstant) {
        constants_.back() = io::to_tensor_proto(tensor, name);
      }
    } else if (operand->kind == Operand::Kind::Ints) {
      onnx::TensorShapeProto& values = symbolic_.back().emplace();
      for (const fx::Value& item : operand->value.items()) {
        onnx::TensorShapeProto::Dimension& dim = *values.add_dim();
        if (item.is_int()) dim.set_dim_value(item.to_int());
      }
    }
  }

  const onnx::NodeProto& node_;
  std::vector<std::optional<onnx::TypeProto>> types_;
  std::vector<std::optional<onnx::TensorProto>> constants_;
  std::vector<std::optional<onnx::TensorShapeProto>> symbolic_;
  std::vector<onnx::TypeProto> outputs_;
};

/// Operators whose inputs or attributes mean something else after the newest set the library knows.
bool changed_since(const std::string& type, int64_t opset) {
  static const std::set<std::string> at_18 = {
      "ReduceL1",   "ReduceL2",  "ReduceLogSum",      "ReduceLogSumExp", "ReduceMax",
      "ReduceMean", "ReduceMin", "ReduceProd",        "ReduceSumSquare", "Split",
      "Resize",     "Pad",       "GroupNormalization"};
  static const std::set<std::string> at_19 = {"AveragePool"};
  static const std::set<std::string> at_20 = {"GridSample", "DFT", "AffineGrid"};
  return (opset >= 18 && at_18.contains(type)) || (opset >= 19 && at_19.contains(type)) ||
         (opset >= 20 && at_20.contains(type));
}

/// ONNX's rules divide by these without looking.
bool has_bad_divisor(const onnx::NodeProto& node) {
  static const std::set<std::string> divisors = {
      "strides", "dilations", "kernel_shape", "group", "blocksize", "num_outputs", "scales"};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!divisors.contains(attribute.name())) continue;
    if (attribute.has_i() && attribute.i() <= 0) return true;
    for (const int64_t value : attribute.ints()) {
      if (value <= 0) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<fx::TensorInfo> tensor_info_of(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  const std::optional<at::ScalarType> dtype = io::scalar_type_of(type.tensor_type().elem_type());
  if (!dtype) return std::nullopt;
  fx::TensorInfo info{.shape = {}, .dtype = *dtype};
  bool has_symbols = false;
  for (const onnx::TensorShapeProto::Dimension& dim : type.tensor_type().shape().dim()) {
    const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    info.shape.push_back(fixed ? dim.dim_value() : -1);
    info.symbols.push_back(fixed ? "" : dim.dim_param());
    has_symbols |= !info.symbols.back().empty();
  }
  if (!has_symbols) info.symbols.clear();
  return info;
}

std::vector<std::optional<fx::TensorInfo>> infer_outputs(const onnx::NodeProto& node, int64_t opset,
                                                         const GraphBuilder& known) {
  std::vector<std::optional<fx::TensorInfo>> infos(static_cast<size_t>(node.output_size()));
  if (changed_since(node.op_type(), opset) || has_bad_divisor(node)) return infos;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
      node.op_type(), static_cast<int>(std::min(opset, kNewestKnown)), node.domain());
  if (!schema || !schema->has_type_and_shape_inference_function()) return infos;
  try {
    schema->Verify(node);
    NodeContext context(node, known);
    schema->GetTypeAndShapeInferenceFunction()(context);
    for (size_t i = 0; i < infos.size(); ++i) infos[i] = tensor_info_of(*context.getOutputType(i));
  } catch (const std::exception&) {  // the converter says what is wrong, if it is
  }
  return infos;
}

}  // namespace sparsebit::frontends
