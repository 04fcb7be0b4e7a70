#include "frontends/onnx/local_functions.h"

#include "frontends/onnx/domains.h"
#include "frontends/onnx/function_proto.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace sparsebit::frontends {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

constexpr int kDeepest = 64;
constexpr int kMostCalls = 100'000;
constexpr size_t kMostBytes = 256'000'000;

/// A function and its defaults.
struct Function {
  const FunctionProto* proto;
  std::map<std::string, AttributeProto> defaults;
  bool checked = false;  // its operators are known to mean the same in the model
};

/// Limits the calls and bytes that inlining adds. A few bytes of a file can expand to very many
/// copies, so each copy is counted before it is made.
class Expansion {
 public:
  /// The number of the call.
  int add_call() {
    check();
    return calls_++;
  }
  void add_copy(size_t bytes) {
    copied_ += bytes;
    check();
  }
  void add_name(size_t length) { add_copy(length + sizeof(std::string)); }

 private:
  void check() const {
    SPARSEBIT_CHECK(calls_ < kMostCalls && copied_ < kMostBytes, Unsupported,
                    "the model's functions expand to more than ", kMostCalls, " calls or ",
                    kMostBytes / 1'000'000, " MB");
  }

  int calls_ = 0;
  size_t copied_ = 0;
};

/// New names for values of a function's body; the others get a prefix.
struct Renaming {
  Expansion& expansion;
  std::string prefix;
  std::unordered_map<std::string, std::string> names = {{"", ""}};

  std::string prefixed(const std::string& name) const {
    expansion.add_name(prefix.size() + name.size());
    return prefix + name;
  }

  std::string operator()(const std::string& name) const {
    const auto it = names.find(name);
    if (it == names.end()) return prefixed(name);
    expansion.add_name(it->second.size());
    return it->second;
  }
};

/// A call of a function with its attributes by name.
class Call {
 public:
  Call(const NodeProto& node, const Function& function) : function_(function) {
    for (const AttributeProto& given : node.attribute()) given_[given.name()] = &given;
  }

  /// An attribute of the function: the given one, else its default, else null.
  const AttributeProto* find(const std::string& name) const {
    const auto given = given_.find(name);
    if (given != given_.end()) return given->second;
    const auto otherwise = function_.defaults.find(name);
    return otherwise == function_.defaults.end() ? nullptr : &otherwise->second;
  }

 private:
  const Function& function_;
  std::unordered_map<std::string_view, const AttributeProto*> given_;
};

void rename(GraphProto& graph, const Renaming& renamed);

void rename(NodeProto& node, const Renaming& renamed) {
  if (!node.name().empty()) node.set_name(renamed.prefixed(node.name()));
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

/// An attribute that refers to an attribute of the function takes the value of the call or the
/// default; without either it is removed.
void take_attributes(NodeProto& node, const Call& call, Expansion& expansion) {
  google::protobuf::RepeatedPtrField<AttributeProto> kept;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    io::for_each_graph(attribute, [&](GraphProto& graph) {
      for (NodeProto& inner : *graph.mutable_node()) take_attributes(inner, call, expansion);
    });
    if (attribute.ref_attr_name().empty()) {
      kept.Add()->Swap(&attribute);
      continue;
    }
    const AttributeProto* value = call.find(attribute.ref_attr_name());
    if (!value) continue;
    expansion.add_copy(value->ByteSizeLong());
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

  /// Replaces function calls among the nodes by the bodies of the functions.
  void expand(Nodes& nodes, int depth) {
    Nodes expanded;
    for (NodeProto& node : nodes) expand(node, expanded, depth);
    nodes.Swap(&expanded);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  /// Moves from `node`.
  void expand(NodeProto& node, Nodes& out, int depth) {
    const auto it = functions_.find({node.domain(), node.op_type(), overload_of(node)});
    io::for_each_graph(node, [&](GraphProto& graph) { expand(*graph.mutable_node(), depth); });
    if (it == functions_.end()) {
      out.Add()->Swap(&node);
      return;
    }
    SPARSEBIT_CHECK(depth < kDeepest, InvalidModel, "the function '", node.op_type(),
                    "' calls itself");
    Function& function = it->second;
    take_operator_sets(function);
    const std::string number = std::to_string(expansion_.add_call());
    Renaming renamed{expansion_, node.op_type() + "_" + number + "/"};
    name_results(*function.proto, node, renamed, out);
    const Call call(node, function);
    for (const NodeProto& inner : function.proto->node()) {
      expansion_.add_copy(inner.ByteSizeLong());
      NodeProto copy = inner;
      take_attributes(copy, call, expansion_);
      rename(copy, renamed);
      expand(copy, out, depth + 1);
    }
  }

  /// Maps the inputs and results of the body to the call's names. A result that is also an input or
  /// another result is copied.
  static void name_results(const FunctionProto& proto, const NodeProto& call, Renaming& renamed,
                           Nodes& out) {
    for (int i = 0; i < proto.input_size(); ++i) {
      const std::string name = i < call.input_size() ? call.input(i) : "";
      renamed.expansion.add_name(proto.input(i).size() + name.size());
      renamed.names[proto.input(i)] = name;
    }
    for (int i = 0; i < std::min(proto.output_size(), call.output_size()); ++i) {
      if (call.output(i).empty()) continue;
      renamed.expansion.add_name(proto.output(i).size() + call.output(i).size());
      if (renamed.names.emplace(proto.output(i), call.output(i)).second) continue;
      NodeProto& copy = *out.Add();
      copy.set_op_type("Identity");
      copy.add_input(renamed(proto.output(i)));
      copy.add_output(call.output(i));
    }
  }

  /// Nodes of the body keep their meaning only when the model uses the same operators. Checked once
  /// per function: operator sets that the model has never change.
  void take_operator_sets(Function& function) {
    if (std::exchange(function.checked, true)) return;
    const OperatorSets own(function.proto->opset_import());
    for (const auto& [domain, version] : own.versions()) {
      if (sets_.find(domain)) continue;
      onnx::OperatorSetIdProto& entry = *model_.add_opset_import();
      entry.set_domain(domain);
      entry.set_version(version);
      sets_.add(domain, version);
    }
    check_same_operators(*function.proto, own, sets_);
  }

  onnx::ModelProto& model_;
  OperatorSets sets_;
  std::map<Key, Function> functions_;
  Expansion expansion_;
};

}  // namespace

void inline_local_functions(onnx::ModelProto& model) {
  Inliner inliner(model);
  if (!inliner.empty()) inliner.expand(*model.mutable_graph()->mutable_node(), 0);
}

}  // namespace sparsebit::frontends
