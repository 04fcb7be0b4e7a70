#include "export/carried.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <google/protobuf/text_format.h>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;
using Names = std::unordered_map<std::string, std::string>;

/// "onnx.com.microsoft.Gelu" -> {"com.microsoft", "Gelu"}
std::pair<std::string, std::string> domain_and_type(const std::string& target) {
  const std::string path = target.substr(std::string("onnx.").size());
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_note(const std::string& attribute) { return attribute.starts_with("_"); }

void fill_list(onnx::AttributeProto& proto, const std::vector<Value>& items) {
  if (items.at(0).is_string()) {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const Value& item : items) proto.add_strings(item.string());
  } else if (items[0].is_double()) {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const Value& item : items) proto.add_floats(static_cast<float>(item.to_double()));
  } else if (items[0].is_tensor()) {
    proto.set_type(onnx::AttributeProto::TENSORS);
    for (const Value& item : items) *proto.add_tensors() = io::to_tensor_proto(item.tensor(), "");
  } else {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const Value& item : items) proto.add_ints(item.to_int());
  }
}

onnx::AttributeProto attribute_of(const Node& node, const std::string& name, const Value& value) {
  onnx::AttributeProto proto;
  if (value.is<fx::Dict>()) {
    const Value* text = value.get<fx::Dict>().find("onnx");
    const bool read = text && text->is_string() &&
                      google::protobuf::TextFormat::ParseFromString(text->string(), &proto);
    SPARSEBIT_CHECK(read, InvalidModel, "node '", node.name(), "': the attribute '", name,
                    "' is not in protobuf's text form");
    return proto;
  }
  proto.set_name(name);
  if (value.is_double()) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(value.to_double()));
  } else if (value.is_string()) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value.string());
  } else if (value.is_tensor()) {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = io::to_tensor_proto(value.tensor(), "");
  } else if (value.is_sequence() && !value.items().empty()) {
    fill_list(proto, value.items());
  } else {
    SPARSEBIT_CHECK(value.is_int() || value.is_bool(), InvalidModel, "node '", node.name(),
                    "': the attribute '", name, "' cannot be ", fx::describe(value));
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value.to_int());
  }
  return proto;
}

template <class Visit>
void for_each_graph(onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_g()) visit(*attribute.mutable_g());
  for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
}

/// What a subgraph reads from outside has another name in the new file.
void rename_captured(onnx::GraphProto& graph, const Names& names) {
  const auto renamed = [&](const std::string& name) {
    const auto it = names.find(name);
    return it == names.end() ? name : it->second;
  };
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) input = renamed(input);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      for_each_graph(attribute, [&](onnx::GraphProto& inner) { rename_captured(inner, names); });
  }
  for (onnx::ValueInfoProto& output : *graph.mutable_output())
    output.set_name(renamed(output.name()));
}

void collect_names(onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      for_each_graph(attribute, [&](onnx::GraphProto& inner) { collect_names(inner, names); });
  }
}

std::vector<std::string> captures_of(const Node& node) {
  std::vector<std::string> names;
  if (const Value* list = node.kwarg("_captures")) {
    for (const Value& name : list->items()) names.push_back(name.string());
  }
  return names;
}

}  // namespace

bool is_carried(const Node& node) {
  return node.op() == fx::Opcode::CallFunction && node.target().starts_with("onnx.") &&
         node.kwarg("_opset") != nullptr;
}

int64_t carried_opset(const Node& node) { return node.kwarg("_opset")->to_int(); }

int64_t carried_outputs(const Node& node) {
  const Value* count = node.kwarg("_outputs");
  return count ? count->to_int() : 1;
}

std::vector<std::string> names_inside(const Node& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.kwargs()) {
    if (is_note(name) || !value.is<fx::Dict>()) continue;
    onnx::AttributeProto attribute = attribute_of(node, name, value);
    for_each_graph(attribute, [&](onnx::GraphProto& graph) { collect_names(graph, names); });
  }
  return names;
}

onnx::NodeProto carried_node(const Node& node,
                             const std::function<std::string(const Value&)>& value_name) {
  onnx::NodeProto proto;
  const auto [domain, type] = domain_and_type(node.target());
  proto.set_op_type(type);
  if (!domain.empty()) proto.set_domain(domain);
  const std::vector<std::string> captures = captures_of(node);
  SPARSEBIT_CHECK(node.args().size() >= captures.size(), InvalidModel, "node '", node.name(),
                  "' captures ", captures.size(), " values but has ", node.args().size(),
                  " arguments");
  const size_t inputs = node.args().size() - captures.size();
  for (size_t i = 0; i < inputs; ++i) proto.add_input(value_name(node.args()[i]));
  Names names;
  for (size_t i = 0; i < captures.size(); ++i)
    names.emplace(captures[i], value_name(node.args()[inputs + i]));
  for (const auto& [name, value] : node.kwargs()) {
    if (is_note(name)) continue;
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute = attribute_of(node, name, value);
    for_each_graph(attribute, [&](onnx::GraphProto& graph) { rename_captured(graph, names); });
  }
  return proto;
}

}  // namespace sparsebit::exports
