#include "export/carried.h"

#include "export/subgraphs.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_attribute.h"
#include "sparsebit/io/onnx_subgraphs.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;

/// "onnx.com.microsoft.Gelu" -> {"com.microsoft", "Gelu"}; the note `_type` gives an operator type
/// that contains a dot.
std::pair<std::string, std::string> domain_and_type(const Node& node) {
  const std::string path = node.target().substr(std::string("onnx.").size());
  const Value* type = node.kwarg("_type");
  if (type && path.ends_with(type->string())) {
    const size_t rest = path.size() - type->string().size();
    return {path.substr(0, rest > 0 ? rest - 1 : 0), type->string()};
  }
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

/// Importer notes start with one underscore; an attribute whose own name starts with one has two.
bool is_note(const std::string& name) { return name.starts_with('_') && !name.starts_with("__"); }

std::string attribute_name(const std::string& name) {
  return name.starts_with("__") ? name.substr(1) : name;
}

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
    const auto& items = value.get<fx::Dict>().items;
    std::optional<onnx::AttributeProto> read;
    if (items.size() == 1 && items[0].second.is_string())
      read = io::attribute_from_text(items[0].first, items[0].second.string());
    SPARSEBIT_CHECK(read, InvalidModel, "node '", node.name(), "': the attribute '", name,
                    "' is not in protobuf's text form");
    return *read;
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

int64_t carried_outputs(const Node& node) {
  const Value* count = node.kwarg("_outputs");
  return count ? count->to_int() : 1;
}

std::map<std::string, int64_t> carried_domains(const Node& node) {
  std::map<std::string, int64_t> domains;
  if (const Value* inside = node.kwarg("_domains")) {
    for (const auto& [domain, version] : inside->get<fx::Dict>().items)
      domains.emplace(domain, version.to_int());
  }
  domains[domain_and_type(node).first] = node.kwarg("_opset")->to_int();
  return domains;
}

std::vector<std::string> names_inside(const Node& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.kwargs()) {
    if (is_note(name) || !value.is<fx::Dict>()) continue;
    const onnx::AttributeProto attribute = attribute_of(node, name, value);
    io::for_each_graph(attribute,
                       [&](const onnx::GraphProto& graph) { collect_definitions(graph, names); });
  }
  return names;
}

onnx::NodeProto carried_node(const Node& node,
                             const std::function<std::string(const Value&)>& value_name) {
  onnx::NodeProto proto;
  const auto [domain, type] = domain_and_type(node);
  proto.set_op_type(type);
  if (!domain.empty()) proto.set_domain(domain);
  const std::vector<std::string> captures = captures_of(node);
  SPARSEBIT_CHECK(node.args().size() >= captures.size(), InvalidModel, "node '", node.name(),
                  "' captures ", captures.size(), " values but has ", node.args().size(),
                  " arguments");
  const size_t inputs = node.args().size() - captures.size();
  for (size_t i = 0; i < inputs; ++i) proto.add_input(value_name(node.args()[i]));
  std::unordered_map<std::string, std::string> names;
  for (size_t i = 0; i < captures.size(); ++i)
    names.emplace(captures[i], value_name(node.args()[inputs + i]));
  for (const auto& [name, value] : node.kwargs()) {
    if (is_note(name)) continue;
    *proto.add_attribute() = attribute_of(node, attribute_name(name), value);
  }
  rename_captured(proto, names);
  return proto;
}

}  // namespace sparsebit::exports
