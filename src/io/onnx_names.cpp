#include "io/onnx_names.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

namespace sparsebit::io {
namespace {

/// Returns the position in the model for error messages; called only on errors.
using Place = std::function<std::string()>;

void check_text(const std::string& text, const std::string& what, const Place& place) {
  SPARSEBIT_CHECK(is_utf8(text), InvalidModel, place(), ": ", what, " is not UTF-8 text");
}

void check_name(const std::string& name, const char* what, const Place& place) {
  check_text(name, std::string("the name of ") + what, place);
}

template <class Names>
void check_each(const Names& names, const char* what, const Place& place) {
  for (int i = 0; i < names.size(); ++i) {
    SPARSEBIT_CHECK(is_utf8(names[i]), InvalidModel, place(), ": the name of ", what, " ", i,
                    " is not UTF-8 text");
  }
}

/// `node 'relu1' (Relu)`; the index replaces a missing or unprintable name.
std::string describe(const onnx::NodeProto& node, int number) {
  const auto shown = [](const std::string& text) {
    return !text.empty() && is_utf8(text) &&
           std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; });
  };
  const std::string name = shown(node.name()) ? "'" + node.name() + "'" : std::to_string(number);
  return "node " + name + (shown(node.op_type()) ? " (" + node.op_type() + ")" : "");
}

void check_tensor(const onnx::TensorProto& tensor, const char* what, const Place& place) {
  check_name(tensor.name(), what, place);
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    check_text(entry.value(), "the external data of '" + tensor.name() + "'", place);
  }
}

void check_sparse(const onnx::SparseTensorProto& tensor, const std::string& what,
                  const Place& place) {
  check_tensor(tensor.values(), what.c_str(), place);
  check_tensor(tensor.indices(), (what + "'s indices").c_str(), place);
}

void check_graph(const onnx::GraphProto& graph, const Place& place);

void check_attribute(const onnx::AttributeProto& attribute, const Place& place) {
  check_name(attribute.name(), "an attribute", place);
  check_text(attribute.ref_attr_name(),
             "the referenced name of attribute '" + attribute.name() + "'", place);
  if (attribute.has_t()) check_tensor(attribute.t(), "a tensor", place);
  for (const auto& tensor : attribute.tensors()) check_tensor(tensor, "a tensor", place);
  if (attribute.has_sparse_tensor()) {
    check_sparse(attribute.sparse_tensor(), "a sparse tensor", place);
  }
  for (const auto& tensor : attribute.sparse_tensors()) {
    check_sparse(tensor, "a sparse tensor", place);
  }
  const Place inside = [&] { return place() + ", attribute '" + attribute.name() + "'"; };
  for_each_graph(attribute, [&](const onnx::GraphProto& graph) { check_graph(graph, inside); });
}

void check_node(const onnx::NodeProto& node, const Place& place) {
  check_text(node.name(), "its name", place);
  check_text(node.op_type(), "its operator", place);
  check_text(node.domain(), "its domain", place);
  check_each(node.input(), "input", place);
  check_each(node.output(), "output", place);
  for (const onnx::AttributeProto& attribute : node.attribute()) check_attribute(attribute, place);
}

template <class Nodes>
void check_nodes(const Nodes& nodes, const Place& place) {
  for (int i = 0; i < nodes.size(); ++i) {
    check_node(nodes[i], [&] { return place() + ": " + describe(nodes[i], i); });
  }
}

template <class Infos>
void check_values(const Infos& infos, const char* what, const Place& place) {
  for (const onnx::ValueInfoProto& info : infos) {
    check_name(info.name(), what, place);
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      check_text(dim.dim_param(), "a dimension name of '" + info.name() + "'", place);
    }
  }
}

/// Throws when two entries of a list have the same name. Entries without a name are reported by the
/// importer.
template <class Items, class NameOf>
void check_distinct(const Items& items, const NameOf& name_of, const char* what,
                    const Place& place) {
  std::unordered_set<std::string_view> names;
  for (const auto& item : items) {
    const std::string& name = name_of(item);
    SPARSEBIT_CHECK(name.empty() || names.insert(name).second, InvalidModel, place(), ": ", what,
                    " '", name, "' is there twice");
  }
}

/// Two inputs, or two initializers, of one name: which one is meant cannot be told. An initializer
/// that is called like an input is its default.
void check_given(const onnx::GraphProto& graph, const Place& place) {
  check_distinct(
      graph.input(), [](const auto& input) -> auto& { return input.name(); }, "the input", place);
  std::vector<const std::string*> initializers;
  for (const auto& tensor : graph.initializer()) initializers.push_back(&tensor.name());
  for (const auto& tensor : graph.sparse_initializer())
    initializers.push_back(&tensor.values().name());
  check_distinct(
      initializers, [](const std::string* name) -> auto& { return *name; }, "the initializer",
      place);
}

void check_graph(const onnx::GraphProto& graph, const Place& place) {
  check_name(graph.name(), "a graph", place);
  check_values(graph.input(), "an input", place);
  check_values(graph.output(), "an output", place);
  check_values(graph.value_info(), "a value", place);
  for (const auto& tensor : graph.initializer()) check_tensor(tensor, "an initializer", place);
  for (const auto& tensor : graph.sparse_initializer()) {
    check_sparse(tensor, "a sparse initializer", place);
  }
  check_given(graph, place);
  check_nodes(graph.node(), place);
}

void check_function(const onnx::FunctionProto& function, const Place& place) {
  check_name(function.name(), "a function", place);
  const Place inside = [&] { return place() + ": function '" + function.name() + "'"; };
  check_text(function.domain(), "its domain", inside);
  check_each(function.input(), "input", inside);
  check_each(function.output(), "output", inside);
  check_each(function.attribute(), "attribute", inside);
  check_distinct(
      function.input(), [](const std::string& name) -> auto& { return name; }, "the input", inside);
  check_nodes(function.node(), inside);
}

/// Checks the second byte of a sequence, which excludes overlong forms, surrogates and code points
/// above 0x10FFFF.
bool is_second_byte(unsigned char lead, unsigned char second) {
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

}  // namespace

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80    ? 1
                          : lead > 0xF4  ? 0
                          : lead >= 0xF0 ? 4
                          : lead >= 0xE0 ? 3
                          : lead >= 0xC2 ? 2
                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    if (length > 1 && !is_second_byte(lead, static_cast<unsigned char>(text[i + 1]))) return false;
    for (size_t k = 2; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

void check_names(const onnx::ModelProto& model, const std::string& file) {
  const Place place = [&] { return file; };
  check_text(model.producer_name(), "the producer's name", place);
  check_text(model.producer_version(), "the producer's version", place);
  for (const onnx::OperatorSetIdProto& entry : model.opset_import()) {
    check_name(entry.domain(), "an operator set", place);
  }
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    check_text(entry.key(), "a key of its metadata", place);
    check_text(entry.value(), "'" + entry.key() + "' of its metadata", place);
  }
  check_graph(model.graph(), place);
  for (const onnx::FunctionProto& function : model.functions()) check_function(function, place);
}

}  // namespace sparsebit::io
