#include "sparsebit/fx/tracer.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"

namespace sparsebit::fx {
namespace {

thread_local Tracer* current_tracer = nullptr;

std::string location(const std::string& path, const std::string& type) {
  return path.empty() ? "the model itself (" + type + ")" : "module '" + path + "' (" + type + ")";
}

void carry_over(const Module& from, Module& to, const std::string& path, const std::string& name) {
  if (const Value* attribute = from.attributes().find(name)) {
    to.set_attribute(name, *attribute);
  } else if (const ModulePtr* child = from.children().find(name)) {
    to.add_module(name, *child);
  } else if (const at::Tensor* parameter = from.own_parameters().find(name)) {
    to.add_parameter(name, *parameter, Grad::AsGiven);
  } else if (const at::Tensor* buffer = from.own_buffers().find(name)) {
    to.add_buffer(name, *buffer);
  } else {
    SPARSEBIT_CHECK(false, InvalidArgument, "preserve: ", location(path, from.type()),
                    " has no attribute, submodule, parameter or buffer '", name, "'",
                    did_you_mean(name, from.attributes().keys()));
  }
}

}  // namespace

/// Makes a tracer the current one of this thread while it is alive.
class Tracer::Scope {
 public:
  explicit Scope(Tracer& tracer) : previous_(current_tracer) { current_tracer = &tracer; }
  ~Scope() { current_tracer = previous_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Tracer* previous_;
};

Tracer* Tracer::current() { return current_tracer; }

Value Tracer::read(const at::Tensor& tensor) {
  return current_tracer && tensor.defined() ? current_tracer->tensor_node(tensor) : Value(tensor);
}

std::unique_ptr<GraphModule> Tracer::trace(Module& model, const TraceOptions& options) {
  graph_ = std::make_unique<Graph>();
  tensor_nodes_.clear();
  constants_ = NamedTensors("constant");
  next_constant_ = 0;
  model_ = &model;
  scope_.clear();
  error_located_ = false;
  index_model(model);
  {
    const Scope scope(*this);
    const Args inputs(model.forward_schema(), make_inputs(model.forward_schema(), options));
    graph_->output(to_argument(run_forward(model, "", inputs)));
  }
  // The constants join the model's tree only in the result: the model itself is left as it was.
  Module sources(model.type(), Schema());
  sources.set_training(model.is_training());
  for (const auto& item : model.children()) sources.add_module(item.key(), item.value());
  for (const auto& item : model.own_parameters()) {
    sources.add_parameter(item.key(), item.value(), Grad::AsGiven);
  }
  for (const auto& item : model.own_buffers()) sources.add_buffer(item.key(), item.value());
  for (const auto& item : constants_) sources.add_buffer(item.key(), item.value().detach());
  auto result = std::make_unique<GraphModule>(sources, std::move(graph_), model.type());
  preserve(model, *result, options);
  return result;
}

void Tracer::index_model(Module& model) {
  module_paths_.clear();
  tensor_paths_.clear();
  for (const auto& [path, module] : model.named_modules()) module_paths_.emplace(module, path);
  for (const NamedTensors& tensors : {model.named_parameters(), model.named_buffers()}) {
    for (const auto& item : tensors) {
      tensor_paths_.emplace(item.value().unsafeGetTensorImpl(), item.key());
    }
  }
}

std::vector<Value> Tracer::make_inputs(const Schema& signature, const TraceOptions& options) {
  std::vector<std::string> names;
  std::vector<Value> inputs;
  for (const Parameter& p : signature.parameters()) {
    names.push_back(p.name);
    const auto concrete = options.concrete_args.find(p.name);
    if (concrete != options.concrete_args.end()) {
      inputs.push_back(concrete->second);
    } else {
      inputs.emplace_back(graph_->placeholder(p.name, p.default_value));
    }
  }
  for (const auto& [name, value] : options.concrete_args) {
    SPARSEBIT_CHECK(signature.find(name), InvalidArgument,
                    "concrete_args: the model has no input '", name, "'",
                    did_you_mean(name, names));
  }
  return inputs;
}

bool Tracer::is_leaf_module(const Module& module, const std::string&) {
  return module.type().starts_with("torch.nn.") && module.type() != "torch.nn.Sequential";
}

Value Tracer::call_module(Module& module, std::span<const Value> args, const Kwargs& kwargs) {
  const auto found = module_paths_.find(&module);
  SPARSEBIT_CHECK(
      found != module_paths_.end(), InvalidModel, "a module of type ", module.type(),
      " is called that is not a submodule of the traced model; add it with add_module()");
  const std::string& path = found->second;
  if (is_leaf_module(module, path) || module.is_operator()) {
    module.bind(args, kwargs);  // invalid arguments fail now, not when the graph runs
    return record(Opcode::CallModule, path, {args.begin(), args.end()}, kwargs);
  }
  return run_forward(module, path, module.bind(args, kwargs));
}

Value Tracer::run_forward(Module& module, const std::string& path, const Args& in) {
  std::string outer = std::exchange(scope_, path);
  try {
    Value result = module.forward(in);
    scope_ = std::move(outer);
    return result;
  } catch (Error& e) {
    locate(e, path, module.type());
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // from libtorch, or a bad access in a model
    Error error(ErrorKind::InvalidArgument, message_of(e));
    locate(error, path, module.type());
    throw error;
  }
}

/// Adds the location to an error once: the innermost module is the most precise.
void Tracer::locate(Error& error, const std::string& path, const std::string& type) {
  if (std::exchange(error_located_, true)) return;
  error.add_context("while tracing " + location(path, type));
  if (error.kind() != ErrorKind::DataDependent) return;
  error.add_context(path.empty()
                        ? "decide it outside of forward, or fix the input with concrete_args"
                        : "to keep that module as one opaque node, add '" + path +
                              "' to SKIP_TRACE_MODULES (--skip '" + path + "')");
}

Value Tracer::record(Opcode op, std::string target, std::vector<Value> args, Kwargs kwargs) {
  for (Value& arg : args) arg = to_argument(arg);
  for (auto& [name, value] : kwargs) value = to_argument(value);
  Node& node = graph_->create_node(op, std::move(target), std::move(args), std::move(kwargs));
  node.set_module_path(scope_);
  return node;
}

Value Tracer::tensor_node(const at::Tensor& tensor) {
  Node*& node = tensor_nodes_[tensor.unsafeGetTensorImpl()];
  if (!node) {
    const auto known = tensor_paths_.find(tensor.unsafeGetTensorImpl());
    std::string path;
    if (known != tensor_paths_.end()) {
      path = known->second;
    } else {
      path = constant_name();
      constants_.insert(path, tensor);  // keeps the tensor alive, because its address is a map key
    }
    node = &graph_->get_attr(path);
    node->set_module_path(scope_);
  }
  return node;
}

/// A model that is itself a traced graph may already have constants with such names.
std::string Tracer::constant_name() {
  std::string name;
  do {
    name = "_tensor_constant" + std::to_string(next_constant_++);
  } while (model_->find_tensor(name) || model_->find_attribute(name) || model_->find_module(name));
  return name;
}

/// Replaces tensors by get_attr nodes, also inside nested arguments.
Value Tracer::to_argument(const Value& value) {
  if (value.is_tensor()) return tensor_node(value.get<at::Tensor>());
  if (value.is_node()) {
    SPARSEBIT_CHECK(&value.node().graph() == graph_.get(), Internal, "node '", value.node().name(),
                    "' belongs to another trace");
    return value;
  }
  if (value.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(to_argument(item));
    return value.is<List>() ? Value(List(std::move(items))) : Value(Tuple(std::move(items)));
  }
  if (value.is<Dict>()) {
    Dict dict = value.get<Dict>();
    for (auto& [key, item] : dict.items) item = to_argument(item);
    return dict;
  }
  if (value.is<Slice>()) {
    Slice slice = value.get<Slice>();
    for (Value& bound : slice.bounds) bound = to_argument(bound);
    return slice;
  }
  return value;
}

void Tracer::preserve(const Module& model, GraphModule& result, const TraceOptions& options) const {
  for (const auto& [path, names] : options.preserve) {
    const Module* source = model.find(path);
    SPARSEBIT_CHECK(source, InvalidArgument, "preserve: ", model.type(), " has no module '", path,
                    "'");
    if (!result.find(path))
      result.set_module(path, std::make_shared<Module>(source->type(), Schema()));
    for (const std::string& name : names) carry_over(*source, *result.find(path), path, name);
  }
}

}  // namespace sparsebit::fx
