#include "frontends/onnx/local_functions.h"

#include "frontends/onnx/domains.h"
#include "frontends/onnx/function_proto.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace sparsebit::frontends {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

constexpr int kDeepest = 64;
constexpr int kMostCalls = 100'000;
constexpr size_t kMostBytes = size_t{256} << 20;

/// A function and its defaults.
struct Function {
  const FunctionProto* proto;
  std::map<std::string, AttributeProto> defaults;
};

/// New names for values of a function's body; the others get a prefix.
struct Renaming {
  std::unordered_map<std::string, std::string> names = {{"", ""}};
  std::string prefix;

  std::string operator()(const std::string& name) const {
    const auto it = names.find(name);
    return it == names.end() ? prefix + name : it->second;
  }
};

void rename(GraphProto& graph, const Renaming& renamed);

void rename(NodeProto& node, const Renaming& renamed) {
  if (!node.name().empty()) node.set_name(renamed.prefix + node.name());
  for (std::string& name : *node.mutable_input()) name = renamed(name);
  for (std::string& name : *node.mutable_output()) name = renamed(name);
  io::for_each_graph(node, [&](GraphProto& graph) { rename(graph, renamed); });
}

void rename(GraphProto& graph, const Renaming& renamed) {
  for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *list) value.set_name(renamed(value.name()));
  }
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    tensor.set_name(renamed(tensor.name()));
  }
  for (onnx::SparseTensorProto& tensor : *graph.mutable_sparse_initializer()) {
    tensor.mutable_values()->set_name(renamed(tensor.values().name()));
  }
  for (NodeProto& node : *graph.mutable_node()) rename(node, renamed);
}

/// An attribute that refers to one of the function takes the value of the call or the default, or
/// goes.
void take_attributes(NodeProto& node, const Function& function, const NodeProto& call) {
  google::protobuf::RepeatedPtrField<AttributeProto> kept;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    io::for_each_graph(attribute, [&](GraphProto& graph) {
      for (NodeProto& inner : *graph.mutable_node()) take_attributes(inner, function, call);
    });
    if (attribute.ref_attr_name().empty()) {
      kept.Add()->Swap(&attribute);
      continue;
    }
    const AttributeProto* value = nullptr;
    const auto otherwise = function.defaults.find(attribute.ref_attr_name());
    if (otherwise != function.defaults.end()) value = &otherwise->second;
    for (const AttributeProto& given : call.attribute()) {
      if (given.name() == attribute.ref_attr_name()) value = &given;
    }
    if (!value) continue;
    AttributeProto& copy = *kept.Add();
    copy = *value;
    copy.set_name(attribute.name());
  }
  node.mutable_attribute()->Swap(&kept);
}

/// Copies bodies of functions into the graphs that call them.
class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& model) : model_(model), sets_(model.opset_import()) {
    for (const FunctionProto& function : model.functions()) {
      functions_[{function.domain(), function.name(), overload_of(function)}] = {
          &function, defaults_of(function)};
    }
  }

  bool empty() const { return functions_.empty(); }

  /// Replaces calls among the nodes by what they call.
  void expand(Nodes& nodes, int depth) {
    Nodes expanded;
    for (NodeProto& node : nodes) expand(node, expanded, depth);
    nodes.Swap(&expanded);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  /// Takes the content of `node`.
  void expand(NodeProto& node, Nodes& out, int depth) {
    const auto it = functions_.find({node.domain(), node.op_type(), overload_of(node)});
    io::for_each_graph(node, [&](GraphProto& graph) { expand(*graph.mutable_node(), depth); });
    copied_ += node.ByteSizeLong();
    SPARSEBIT_CHECK(calls_ < kMostCalls && copied_ < kMostBytes, Unsupported,
                    "the model's functions expand to more than ", kMostCalls, " calls or ",
                    kMostBytes >> 20, " MB");
    if (it == functions_.end()) {
      out.Add()->Swap(&node);
      return;
    }
    SPARSEBIT_CHECK(depth < kDeepest, InvalidModel, "the function '", node.op_type(),
                    "' calls itself");
    take_operator_sets(*it->second.proto);
    Renaming renamed;
    renamed.prefix = node.op_type() + "_" + std::to_string(calls_++) + "/";
    name_results(it->second, node, renamed, out);
    for (const NodeProto& inner : it->second.proto->node()) {
      NodeProto copy = inner;
      take_attributes(copy, it->second, node);
      rename(copy, renamed);
      expand(copy, out, depth + 1);
    }
  }

  /// Inputs and results of the body have the call's names. A result that is an input or another
  /// result as well is copied.
  static void name_results(const Function& function, const NodeProto& call, Renaming& renamed,
                           Nodes& out) {
    const FunctionProto& proto = *function.proto;
    for (int i = 0; i < proto.input_size(); ++i) {
      renamed.names[proto.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < std::min(proto.output_size(), call.output_size()); ++i) {
      if (call.output(i).empty()) continue;
      if (renamed.names.emplace(proto.output(i), call.output(i)).second) continue;
      NodeProto& copy = *out.Add();
      copy.set_op_type("Identity");
      copy.add_input(renamed(proto.output(i)));
      copy.add_output(call.output(i));
    }
  }

  /// Nodes of the body keep their meaning only when the model uses the same operators.
  void take_operator_sets(const FunctionProto& function) {
    for (const onnx::OperatorSetIdProto& entry : function.opset_import()) {
      const std::optional<int64_t> version = sets_.find(entry.domain());
      if (!version) {
        *model_.add_opset_import() = entry;
        sets_ = OperatorSets(model_.opset_import());
      } else if (*version != entry.version()) {
        check_same_operators(function, entry, *version);
      }
    }
  }

  onnx::ModelProto& model_;
  OperatorSets sets_;
  std::map<Key, Function> functions_;
  int calls_ = 0;
  size_t copied_ = 0;
};

}  // namespace

void inline_local_functions(onnx::ModelProto& model) {
  Inliner inliner(model);
  if (!inliner.empty()) inliner.expand(*model.mutable_graph()->mutable_node(), 0);
}

}  // namespace sparsebit::frontends
