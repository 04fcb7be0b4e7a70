#include "sparsebit/fx/graph_module.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"

#include <unordered_set>

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
  if (!to.find(parent)) to.set_module(parent, std::make_shared<Module>("Module", Schema()));
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

std::unordered_set<std::string> called_modules(const Graph& graph) {
  std::unordered_set<std::string> targets;
  for (const Node& node : graph.nodes()) {
    if (node.op() == Opcode::CallModule) targets.insert(node.target());
  }
  return targets;
}

/// The outermost called module that contains `path`: when both `a` and `a.b` are called, `a` has to
/// be taken, whichever is called first.
std::string outermost_called(const std::string& path,
                             const std::unordered_set<std::string>& called) {
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (called.contains(path.substr(0, dot))) return path.substr(0, dot);
  }
  return path;
}

}  // namespace

GraphModule::GraphModule(std::unique_ptr<Graph> graph, std::string type)
    : Module(std::move(type), signature_of(*graph)), graph_(std::move(graph)) {}

GraphModule::GraphModule(const Module& root, std::unique_ptr<Graph> graph, std::string type)
    : GraphModule(std::move(graph), std::move(type)) {
  const std::unordered_set<std::string> called = called_modules(*graph_);
  for (const Node& node : graph_->nodes()) {
    if (node.op() != Opcode::CallModule || find_module(node.target())) continue;
    const std::string path = outermost_called(node.target(), called);
    ModulePtr module = root.find_module(path);
    SPARSEBIT_CHECK(module, InvalidModel, "node '", node.name(), "' calls '", node.target(),
                    "', but ", root.type(), " has no such module");
    set_module(path, std::move(module));
  }
  // Tensors after modules: one may live inside a module that is called as well.
  for (const Node& node : graph_->nodes()) {
    if (node.op() != Opcode::GetAttr) continue;
    if (!find_tensor(node.target()) && !find_attribute(node.target())) {
      share_tensor(root, *this, node.target());
    }
  }
  // Shared modules keep their own mode (a frozen batch norm stays in eval); containers created here
  // take the mode of the originals.
  for (const auto& [path, module] : named_modules()) {
    const Module* source = root.find(path);
    if (source && source != module) module->set_training(source->is_training());
  }
}

GraphModule::GraphModule(const GraphModule& other)
    : Module(other), graph_(other.graph_->clone()), output_names_(other.output_names_) {}

ModulePtr GraphModule::shallow_copy() const { return ModulePtr(new GraphModule(*this)); }

std::shared_ptr<GraphModule> GraphModule::clone_graph_module() const {
  return std::static_pointer_cast<GraphModule>(clone());
}

int64_t GraphModule::fixed_batch() const {
  for (const Node* input : graph_->placeholders()) {
    const auto& info = input->tensor_info();
    if (info && !info->shape.empty() && info->shape[0] > 0) return info->shape[0];
  }
  return 0;
}

void GraphModule::refresh_signature() { set_forward_schema(signature_of(*graph_)); }

Value GraphModule::forward(const Args& in) {
  Interpreter interpreter(*this);
  return interpreter.run(in.values());
}

}  // namespace sparsebit::fx
