#include "frontends/onnx/local_functions.h"

#include "sparsebit/core/error.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <unordered_map>

namespace sparsebit::frontends {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

constexpr int kDeepest = 64;
constexpr int kMostCalls = 100'000;
constexpr size_t kMostBytes = size_t{256} << 20;

using Functions = std::map<std::pair<std::string, std::string>, const FunctionProto*>;

/// Copies bodies of functions into the graph that calls them.
class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) {
    for (const FunctionProto& function : model.functions()) {
      functions_[{function.domain(), function.name()}] = &function;
    }
  }

  bool empty() const { return functions_.empty(); }

  void expand(const NodeProto& node, GraphProto& out, int depth) {
    const auto it = functions_.find({node.domain(), node.op_type()});
    copied_ += node.ByteSizeLong();
    SPARSEBIT_CHECK(calls_ < kMostCalls && copied_ < kMostBytes, Unsupported,
                    "the model's functions expand to more than ", kMostCalls, " calls or ",
                    kMostBytes >> 20, " MB");
    if (it == functions_.end()) {
      *out.add_node() = node;
      return;
    }
    SPARSEBIT_CHECK(depth < kDeepest, InvalidModel, "the function '", node.op_type(),
                    "' calls itself");
    const std::string prefix = node.op_type() + "_" + std::to_string(calls_++) + "/";
    const Names names = names_of(*it->second, node);
    for (const NodeProto& inner : it->second->node()) {
      NodeProto copy = inner;
      if (!copy.name().empty()) copy.set_name(prefix + copy.name());
      rename(copy, names, prefix);
      take_attributes(copy, node);
      expand(copy, out, depth + 1);
    }
  }

 private:
  using Names = std::unordered_map<std::string, std::string>;

  static Names names_of(const FunctionProto& function, const NodeProto& call) {
    Names names = {{"", ""}};
    for (int i = 0; i < function.input_size(); ++i) {
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      if (i < call.output_size() && !call.output(i).empty()) {
        names[function.output(i)] = call.output(i);
      }
    }
    return names;
  }

  static std::string renamed(const std::string& name, const Names& names,
                             const std::string& prefix) {
    const auto it = names.find(name);
    return it == names.end() ? prefix + name : it->second;
  }

  static void rename(NodeProto& node, const Names& names, const std::string& prefix) {
    for (std::string& name : *node.mutable_input()) name = renamed(name, names, prefix);
    for (std::string& name : *node.mutable_output()) name = renamed(name, names, prefix);
    for (const AttributeProto& attribute : node.attribute()) {
      SPARSEBIT_CHECK(!attribute.has_g() && attribute.graphs_size() == 0, Unsupported,
                      "a function of the model with a subgraph (", node.op_type(),
                      ") cannot be read");
    }
  }

  /// An attribute that refers to one of the function takes the value of the call, or goes.
  static void take_attributes(NodeProto& node, const NodeProto& call) {
    google::protobuf::RepeatedPtrField<AttributeProto> kept;
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *kept.Add() = attribute;
        continue;
      }
      for (const AttributeProto& given : call.attribute()) {
        if (given.name() != attribute.ref_attr_name()) continue;
        AttributeProto& copy = *kept.Add();
        copy = given;
        copy.set_name(attribute.name());
      }
    }
    node.mutable_attribute()->Swap(&kept);
  }

  Functions functions_;
  int calls_ = 0;
  size_t copied_ = 0;
};

}  // namespace

void inline_local_functions(onnx::ModelProto& model) {
  Inliner inliner(model);
  if (inliner.empty()) return;
  GraphProto expanded;
  for (const NodeProto& node : model.graph().node()) inliner.expand(node, expanded, 0);
  model.mutable_graph()->mutable_node()->Swap(expanded.mutable_node());
}

}  // namespace sparsebit::frontends
