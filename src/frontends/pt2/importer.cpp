#include "frontends/pt2/archive.h"
#include "frontends/pt2/graph_reader.h"
#include "frontends/pt2/layers.h"
#include "frontends/pt2/tensor_meta.h"
#include "frontends/pt2/tree_spec.h"
#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/tensor_store.h"
#include "sparsebit/core/error.h"
#include "sparsebit/frontends/pt2.h"
#include "sparsebit/fx/dead_code.h"

#include <map>

namespace sparsebit::frontends {
namespace pt2 {
namespace {

using fx::Value;

/// The tensors of a program in a tree of modules, at the paths of their names.
class ProgramTensors : public torchscript::TensorStore {
 public:
  ProgramTensors() : root_("Module", fx::Schema()) {}

  fx::Module& root() { return root_; }

  void add(const std::string& name, const at::Tensor& tensor, bool is_parameter) {
    const auto [parent, last] = fx::split_path(name);
    if (!root_.find(parent))
      root_.set_module(parent, std::make_shared<fx::Module>("Module", fx::Schema()));
    fx::Module& owner = *root_.find(parent);
    if (is_parameter)
      owner.add_parameter(last, tensor);
    else
      owner.add_buffer(last, tensor);
    paths_.emplace(tensor.unsafeGetTensorImpl(), name);
  }

  at::Tensor canonical(const at::Tensor& tensor) const override { return tensor; }
  std::string constant_path(const at::Tensor& tensor) override {
    const auto found = paths_.find(tensor.unsafeGetTensorImpl());
    SPARSEBIT_CHECK(found != paths_.end(), Internal, "a tensor that is not in the file");
    return found->second;
  }
  torchscript::Budget& budget() override { return budget_; }

 private:
  fx::Module root_;
  std::map<const void*, std::string> paths_;
  torchscript::Budget budget_;
};

const at::Tensor& find_tensor(const Archive& archive, const std::string& name) {
  for (const auto* tensors : {&archive.weights, &archive.constants}) {
    if (const auto found = tensors->find(name); found != tensors->end()) return found->second;
  }
  throw Error(ErrorKind::InvalidModel, "has no data for the tensor '" + name + "'");
}

/// Puts all inputs of the program into the environment; inputs given by the caller become
/// placeholders.
class Inputs {
 public:
  Inputs(const Archive& archive, ProgramTensors& tensors, torchscript::GraphBuilder& builder)
      : archive_(archive), tensors_(tensors), builder_(builder) {}

  Environment read(const JsonValue& graph_module) {
    const JsonValue values = graph_module["graph"]["tensor_values"];
    for (const JsonValue& spec : graph_module["signature"]["input_specs"].items()) {
      const auto [kind, input] = spec.alternative();
      if (kind == "parameter") {
        add_tensor(input, input["parameter_name"].text(), true);
      } else if (kind == "buffer") {
        add_tensor(input, input["buffer_name"].text(), false);
      } else if (kind == "tensor_constant") {
        add_tensor(input, input["tensor_constant_name"].text(), false);
      } else if (kind == "user_input") {
        add_placeholder(input["arg"], values);
      } else if (kind == "constant_input") {
        environment_[input["name"].text()] = read_argument(input["value"], {});
      } else {
        SPARSEBIT_CHECK(kind == "token", Unsupported, "an input of kind '", kind,
                        "' is not supported");
      }
    }
    return std::move(environment_);
  }

 private:
  void add_tensor(const JsonValue& input, const std::string& name, bool is_parameter) {
    const at::Tensor& tensor = find_tensor(archive_, name);
    tensors_.add(name, tensor, is_parameter);
    environment_[input["arg"]["name"].text()] = Value(tensor);
  }

  void add_placeholder(const JsonValue& argument, const JsonValue& values) {
    const auto [kind, input] = argument.alternative();
    const auto name = kind == "as_tensor"          ? input.find("name")
                      : kind.starts_with("as_sym") ? input.find("as_name")
                                                   : std::nullopt;
    if (!name) return;  // a number, text or None that was fixed when the program was made
    fx::Node& node = builder_.graph().placeholder(name->text());
    if (kind == "as_tensor") {
      if (const auto meta = values.find(name->text().c_str()))
        node.set_tensor_info(tensor_info(*meta));
    }
    environment_[name->text()] = Value(node);
  }

  const Archive& archive_;
  ProgramTensors& tensors_;
  torchscript::GraphBuilder& builder_;
  Environment environment_;
};

struct Outputs {
  Value value;
  std::vector<std::string> names;
};

[[noreturn]] void refuse_output(const std::string& kind, const JsonValue& output) {
  if (kind == "buffer_mutation")
    throw Error(ErrorKind::Unsupported,
                "the program changes its buffer '" + output["buffer_name"].text() +
                    "' when it runs, which is not supported (a model in training mode needs "
                    "model.eval() before torch.export.export)");
  if (kind == "user_input_mutation")
    throw Error(ErrorKind::Unsupported, "the program changes its input '" +
                                            output["user_input_name"].text() +
                                            "', which is not supported");
  throw Error(ErrorKind::Unsupported, "an output of kind '" + kind +
                                          "' is not supported: export the model for inference, "
                                          "without loss and gradients");
}

Outputs read_outputs(const JsonValue& graph_module, const Environment& environment) {
  std::vector<Value> leaves;
  for (const JsonValue& spec : graph_module["signature"]["output_specs"].items()) {
    const auto [kind, output] = spec.alternative();
    if (kind == "token") continue;
    if (kind != "user_output") refuse_output(kind, output);
    leaves.push_back(read_argument(output["arg"], environment));
  }
  TreeSpec tree{.kind = TreeSpec::Kind::Tuple, .keys = {}, .children = {}};
  tree.children.resize(leaves.size());
  for (const JsonValue& entry : graph_module["module_call_graph"].items()) {
    const auto signature = entry.find("signature");
    if (!entry["fqn"].text().empty() || !signature) continue;
    TreeSpec given = parse_tree_spec((*signature)["out_spec"].text());
    if (given.leaves() == leaves.size()) tree = std::move(given);
  }
  return {unflatten(tree, leaves), leaf_names(tree, leaves)};
}

/// The class of the model, from the module stack of a node.
std::string model_type(const JsonValue& graph) {
  for (const JsonValue& node : graph["nodes"].items()) {
    const auto metadata = node.find("metadata");
    const auto text = metadata ? metadata->find("nn_module_stack") : std::nullopt;
    if (!text) continue;
    const std::vector<ModuleCall> stack = parse_module_stack(text->text());
    if (!stack.empty() && stack[0].path.empty() && !stack[0].type.empty())
      return stack[0].type.substr(stack[0].type.rfind('.') + 1);
  }
  return "ExportedProgram";
}

std::unique_ptr<fx::GraphModule> build(const Archive& archive) {
  const JsonValue program(archive.program, "program");
  const JsonValue graph_module = program["graph_module"], graph = graph_module["graph"];
  ProgramTensors tensors;
  torchscript::GraphBuilder builder(tensors);
  Environment environment = Inputs(archive, tensors, builder).read(graph_module);
  tensors.root().eval();
  GraphReader reader(builder);
  reader.read_nodes(graph, environment);
  Outputs outputs = read_outputs(graph_module, environment);
  builder.scope.clear();
  builder.graph().output(builder.argument(outputs.value));
  restore_layers(builder.graph(), tensors.root(), reader.layer_nodes());
  auto module =
      std::make_unique<fx::GraphModule>(tensors.root(), builder.take_graph(), model_type(graph));
  module->set_output_names(std::move(outputs.names));
  fx::eliminate_dead_code(*module);
  module->eval();
  return module;
}

}  // namespace
}  // namespace pt2

std::unique_ptr<fx::GraphModule> import_pt2(const std::filesystem::path& path) {
  const auto fail = [&](ErrorKind kind, const std::string& what) {
    throw Error(kind, ErrorDetails{.what = what, .where = path.string()});
  };
  try {
    return pt2::build(pt2::load_archive(path));
  } catch (const Error& e) {
    const bool named = std::string_view(e.what()).starts_with(path.string());
    if (named) throw;
    fail(e.kind(), e.details().what);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    fail(ErrorKind::InvalidModel, "cannot be read: " + torchscript::first_line(e));
  }
  return nullptr;
}

}  // namespace sparsebit::frontends
