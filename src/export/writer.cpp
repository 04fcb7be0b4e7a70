#include "export/writer.h"

#include "export/subgraphs.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace sparsebit::exports {
namespace {

struct FillAttribute {
  onnx::AttributeProto& proto;

  void operator()(int64_t v) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(v);
  }
  void operator()(double v) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(v));
  }
  void operator()(const std::string& v) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(v);
  }
  void operator()(const std::vector<int64_t>& v) const {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const int64_t item : v) proto.add_ints(item);
  }
  void operator()(const std::vector<double>& v) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const double item : v) proto.add_floats(static_cast<float>(item));
  }
  void operator()(const std::vector<std::string>& v) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& item : v) proto.add_strings(item);
  }
  void operator()(const at::Tensor& v) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = io::to_tensor_proto(v, "");
  }
};

std::string_view bytes_of(const at::Tensor& contiguous) {
  return {static_cast<const char*>(contiguous.data_ptr()), contiguous.nbytes()};
}

bool same_content(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && bytes_of(a) == bytes_of(b);
}

/// Unnamed constants share any stored constant of equal content. Weights keep their own names,
/// unless they are large and have the same last name part: small weights, such as biases of zeros,
/// may be equal by chance.
bool may_share(const std::string& stored, const std::string& name, const at::Tensor& tensor) {
  constexpr size_t kLarge = 4096;  // bytes
  const auto part = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  if (name.empty()) return true;
  return tensor.nbytes() >= kLarge && part(stored) == part(name);
}

}  // namespace

std::string GraphWriter::unique_name(const std::string& wish) {
  if (used_.insert(wish).second) return wish;
  int64_t& number = next_number_[wish];
  while (true) {
    std::string name = wish + "_" + std::to_string(++number);
    if (used_.insert(name).second) return name;
  }
}

void GraphWriter::begin(const std::string& node_name) {
  node_name_ = node_name;
  first_node_ = nodes_.size();
}

bool GraphWriter::rename(OnnxTensor& value, const std::string& name) {
  bool made_here = false;
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    for (std::string& output : *nodes_[i].mutable_output()) {
      if (output != value.name) continue;
      output = name;
      made_here = true;
    }
  }
  if (!made_here) return false;
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    for (std::string& input : *nodes_[i].mutable_input()) {
      if (input == value.name) input = name;
    }
  }
  value.name = name;
  return true;
}

void GraphWriter::name_producer(const OnnxTensor& value, const std::string& name) {
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    const auto& outputs = nodes_[i].output();
    if (std::find(outputs.begin(), outputs.end(), value.name) == outputs.end()) continue;
    nodes_[i].set_name(name);
  }
}

void GraphWriter::set_doc(const OnnxTensor& value, const std::string& text) {
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    const auto& outputs = nodes_[i].output();
    if (std::find(outputs.begin(), outputs.end(), value.name) != outputs.end())
      nodes_[i].set_doc_string(text);
  }
}

void GraphWriter::set_domain(const OnnxTensor& value, const std::string& domain) {
  for (size_t i = first_node_; i < nodes_.size(); ++i) {
    const auto& outputs = nodes_[i].output();
    if (std::find(outputs.begin(), outputs.end(), value.name) != outputs.end())
      nodes_[i].set_domain(domain);
  }
}

bool GraphWriter::is_made_by_node(const std::string& value) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const onnx::NodeProto& node) {
    return std::find(node.output().begin(), node.output().end(), value) != node.output().end();
  });
}

void GraphWriter::make_room(const std::string& name) {
  if (!is_made_by_node(name)) return;
  const std::string other = moved_[name] = unique_name(name);
  for (onnx::NodeProto& node : nodes_) {
    for (auto* names : {node.mutable_input(), node.mutable_output()})
      std::replace(names->begin(), names->end(), name, other);
    rename_captured(node, {{name, other}});
  }
}

std::string GraphWriter::current_name(const std::string& name) const {
  const auto it = moved_.find(name);
  return it == moved_.end() ? name : it->second;
}

OnnxTensor GraphWriter::constant(const at::Tensor& value, const std::string& name) {
  const auto sym_of = [&](size_t index) {
    const auto& [stored, tensor] = constants_[index];
    return OnnxTensor{stored, tensor.scalar_type(), tensor.sizes().vec(), tensor};
  };
  const auto known = constants_by_identity_.find(value.unsafeGetTensorImpl());
  if (known != constants_by_identity_.end()) return sym_of(known->second);
  const at::Tensor plain = value.detach().to(at::kCPU).contiguous();
  const size_t hash = std::hash<std::string_view>()(bytes_of(plain));
  const auto [first, last] = constants_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto& [stored, tensor] = constants_[it->second];
    if (may_share(stored, name, plain) && same_content(tensor, plain)) return sym_of(it->second);
  }
  const size_t index = constants_.size();
  constants_.emplace_back(unique_name(name.empty() ? node_name_ + "/constant" : name), plain);
  constants_by_hash_.emplace(hash, index);
  if (!name.empty()) {
    constants_by_identity_.emplace(value.unsafeGetTensorImpl(), index);
    identified_.push_back(value);
  }
  return sym_of(index);
}

OnnxTensor GraphWriter::packed_constant(onnx::TensorProto tensor, const std::string& name) {
  tensor.set_name(unique_name(name));
  packed_constants_.push_back(std::move(tensor));
  const onnx::TensorProto& stored = packed_constants_.back();
  return {.name = stored.name(), .shape = Shape(stored.dims().begin(), stored.dims().end())};
}

OnnxTensor GraphWriter::ints(const std::vector<int64_t>& values) {
  return constant(at::tensor(values, at::kLong));
}

OnnxTensor GraphWriter::scalar(const at::Scalar& value, at::ScalarType dtype) {
  const bool known = dtype != at::ScalarType::Undefined;
  return constant(at::scalar_tensor(value, known ? dtype : at::kFloat));
}

std::vector<OnnxTensor> GraphWriter::emit(const std::string& type,
                                          const std::vector<OnnxTensor>& inputs, const Attrs& attrs,
                                          size_t outputs) {
  onnx::NodeProto& node = nodes_.emplace_back();
  node.set_op_type(type);
  node.set_name(unique_name(node_name_ + "/" + type));
  size_t count = inputs.size();
  while (count > 0 && !inputs[count - 1].present()) --count;
  for (size_t i = 0; i < count; ++i) node.add_input(inputs[i].name);
  for (const Attr& attr : attrs) {
    onnx::AttributeProto& proto = *node.add_attribute();
    proto.set_name(attr.name);
    std::visit(FillAttribute{proto}, attr.content);
  }
  std::vector<OnnxTensor> results(outputs);
  for (OnnxTensor& result : results) {
    result.name = unique_name(node_name_ + "/" + type + "_output");
    node.add_output(result.name);
  }
  return results;
}

OnnxTensor GraphWriter::op(const std::string& type, const std::vector<OnnxTensor>& inputs,
                           const Attrs& attrs, at::ScalarType dtype, std::optional<Shape> shape) {
  OnnxTensor result = std::move(emit(type, inputs, attrs, 1)[0]);
  result.dtype = dtype;
  result.shape = std::move(shape);
  return result;
}

void GraphWriter::finish(onnx::GraphProto& graph, const std::vector<std::string>& outputs) {
  std::unordered_set<std::string> used(outputs.begin(), outputs.end());
  std::vector<bool> needed(nodes_.size(), false);
  for (size_t i = nodes_.size(); i-- > 0;) {
    const auto& made = nodes_[i].output();
    needed[i] = std::any_of(made.begin(), made.end(),
                            [&](const std::string& name) { return used.contains(name); });
    if (needed[i]) collect_uses(nodes_[i], used);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (needed[i]) *graph.add_node() = std::move(nodes_[i]);
  }
  for (const auto& [name, tensor] : constants_) {
    if (used.contains(name)) *graph.add_initializer() = io::to_tensor_proto(tensor, name);
  }
  for (onnx::TensorProto& tensor : packed_constants_) {
    if (used.contains(tensor.name())) *graph.add_initializer() = std::move(tensor);
  }
  packed_constants_.clear();
  nodes_.clear();
}

}  // namespace sparsebit::exports
