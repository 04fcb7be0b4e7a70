#include "sparsebit/fx/graph_module.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"

namespace sparsebit::fx {
namespace {

Schema signature_of(const Graph& graph) {
  std::vector<Parameter> parameters;
  for (const Node* node : graph.placeholders()) {
    Parameter parameter{.name = node->target()};
    if (!node->args().empty()) parameter.default_value = node->args()[0];
    parameters.push_back(std::move(parameter));
  }
  return Schema(std::move(parameters));
}

void share_tensor(const Module& from, Module& to, const std::string& path) {
  const auto [parent, name] = split_path(path);
  const Module* source = from.find(parent);
  SPARSEBIT_CHECK(source, InvalidModel, "the graph reads '", path, "', but ", from.type(),
                  " has no module '", parent, "'");
  if (!to.find(parent)) to.set_module(parent, std::make_shared<Module>(source->type(), Schema()));
  Module& target = *to.find(parent);
  if (const at::Tensor* parameter = source->own_parameters().find(name)) {
    target.add_parameter(name, *parameter, Grad::AsGiven);
  } else if (const at::Tensor* buffer = source->own_buffers().find(name)) {
    target.add_buffer(name, *buffer);
  } else if (const Value* attribute = source->attributes().find(name)) {
    target.set_attribute(name, *attribute);
  } else {
    SPARSEBIT_CHECK(false, InvalidModel, "the graph reads '", path, "', but ", from.type(),
                    " has no such parameter, buffer or attribute");
  }
}

}  // namespace

GraphModule::GraphModule(std::unique_ptr<Graph> graph, std::string type)
    : Module(std::move(type), signature_of(*graph)), graph_(std::move(graph)) {}

GraphModule::GraphModule(const Module& root, std::unique_ptr<Graph> graph, std::string type)
    : GraphModule(std::move(graph), std::move(type)) {
  // Modules before tensors: a tensor may live inside a module that is called as well.
  for (const Node& node : graph_->nodes()) {
    if (node.op() != Opcode::CallModule || find_module(node.target())) continue;
    ModulePtr module = root.find_module(node.target());
    SPARSEBIT_CHECK(module, InvalidModel, "node '", node.name(), "' calls '", node.target(),
                    "', but ", root.type(), " has no such module");
    set_module(node.target(), std::move(module));
  }
  for (const Node& node : graph_->nodes()) {
    if (node.op() != Opcode::GetAttr) continue;
    if (!find_tensor(node.target()) && !find_attribute(node.target())) {
      share_tensor(root, *this, node.target());
    }
  }
  train(root.is_training());
}

GraphModule::GraphModule(const GraphModule& other) : Module(other), graph_(other.graph_->clone()) {}

ModulePtr GraphModule::shallow_copy() const { return ModulePtr(new GraphModule(*this)); }

std::shared_ptr<GraphModule> GraphModule::clone_graph_module() const {
  return std::static_pointer_cast<GraphModule>(clone());
}

void GraphModule::refresh_signature() { set_forward_schema(signature_of(*graph_)); }

Value GraphModule::forward(const Args& in) {
  Interpreter interpreter(*this);
  return interpreter.run(in.values());
}

}  // namespace sparsebit::fx
