#include "sparsebit/fx/interpreter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/fx/call.h"
#include "sparsebit/fx/computable.h"
#include "sparsebit/fx/ops/work_limit.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

namespace sparsebit::fx {
namespace {

std::string describe_call(const Node& node, const NodeCall& call) {
  std::string values;
  for (const Value& value : call.args) values += (values.empty() ? "" : ", ") + describe(value);
  for (const auto& [name, value] : call.kwargs) {
    // Subgraphs of operators such as onnx.Loop would be pages of text.
    const std::string text = value.is<Dict>() ? "..." : describe(value);
    values += (values.empty() ? "" : ", ") + name + "=" + text;
  }
  return c10::str("at node '", node.name(), "': ", to_string(node.op()), "[target=", node.target(),
                  "](", values, ")");
}

}  // namespace

Interpreter::Interpreter(GraphModule& module, RunMode mode) : module_(module), mode_(mode) {}

void Interpreter::add_hook(NodeHook hook) { hooks_.push_back(std::move(hook)); }

void Interpreter::plan() {
  const Graph& graph = module_.graph();
  if (planned_version_ == graph.version()) return;
  steps_.clear();
  step_of_.clear();
  steps_.reserve(graph.size());
  placeholder_count_ = graph.placeholders().size();
  std::unordered_map<const Node*, size_t> last_use;
  for (const Node& node : graph.nodes()) {
    const size_t step = steps_.size();
    steps_.push_back({&node, {}});
    step_of_.emplace(&node, step);
    last_use[&node] = step;  // an unused value is freed at once
    for (const Node* input : node.inputs()) {
      SPARSEBIT_CHECK(step_of_.contains(input), InvalidModel, "node '", node.name(), "' uses '",
                      input->name(), "', which comes later in the graph");
      last_use[input] = step;
    }
  }
  for (const auto& [node, step] : last_use) steps_[step].last_uses.push_back(step_of_.at(node));
  if (skips_uncomputable_) skipped_ = uncomputable_nodes(module_);
  planned_version_ = graph.version();
}

std::unique_ptr<Executor> make_interpreter(GraphModule& module, const ExecutorOptions& options) {
  auto interpreter = std::make_unique<Interpreter>(module, options.mode);
  if (options.kernels) interpreter->use_kernels(*options.kernels);
  if (options.skip_uncomputable) interpreter->skip_uncomputable();
  return interpreter;
}

Value Interpreter::run(std::vector<Value> inputs, const Taps& taps) {
  plan();
  SPARSEBIT_CHECK(inputs.size() <= placeholder_count_, InvalidArgument, "the graph has ",
                  placeholder_count_, " inputs, got ", inputs.size());
  if (mode_ == RunMode::Autograd) return run_steps(std::move(inputs), taps);
  const c10::InferenceMode inference;
  return run_steps(std::move(inputs), taps);
}

Value Interpreter::run_steps(std::vector<Value> inputs, const Taps& taps) {
  const std::unordered_set<const Node*> tapped(taps.nodes.begin(), taps.nodes.end());
  std::vector<Value> values(steps_.size());
  size_t next_input = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Node& node = *steps_[i].node;
    if (skipped_.contains(&node)) {  // its value stays None
      for (const size_t dead : steps_[i].last_uses) values[dead] = None();
      continue;
    }
    NodeCall call;
    if (node.op() == Opcode::Placeholder) {
      if (next_input < inputs.size()) call.args = {std::move(inputs[next_input])};
      ++next_input;
    } else {
      std::tie(call.args, call.kwargs) =
          node.map_arguments([&](Node& input) { return values[step_of_.at(&input)]; });
    }
    for (const NodeHook& hook : hooks_) {
      if (hook.before) hook.before(node, call);
    }
    values[i] = run_node(node, call);
    call = {};  // the arguments must not keep the values alive that are freed next
    for (const NodeHook& hook : hooks_) {
      if (hook.after) hook.after(node, values[i]);
    }
    if (tapped.contains(&node)) taps.see(node, values[i]);
    if (node.op() == Opcode::Output) return std::move(values[i]);
    for (const size_t dead : steps_[i].last_uses) values[dead] = None();
  }
  return None();
}

Value Interpreter::run_node(const Node& node, NodeCall& call) {
  return with_context([&] { return dispatch(node, call); },
                      [&] { return describe_call(node, call); });
}

const Kernel* Interpreter::other_kernel(const Spelling* spelling) const {
  if (!spelling) return nullptr;
  const auto it = kernels_->find(spelling->op->name);
  return it == kernels_->end() ? nullptr : &it->second;
}

Value Interpreter::run_other(const Node& node, const Spelling& spelling, const Kernel& kernel,
                             const NodeCall& call) {
  if (spelling.form) return kernel(bind_call(spelling, call.args, call.kwargs));
  const Module& module = *module_.find(node.target());
  return kernel(bind_module(module, spelling, module.bind(call.args, call.kwargs)));
}

Value Interpreter::dispatch(const Node& node, NodeCall& call) {
  if (kernels_) {
    const Spelling* spelling = find_spelling(node, module_);
    if (const Kernel* other = other_kernel(spelling))
      return run_other(node, *spelling, *other, call);
  }
  switch (node.op()) {
    case Opcode::Placeholder:
      if (call.args.empty()) call.args = node.args();  // the default, if there is one
      SPARSEBIT_CHECK(!call.args.empty(), InvalidArgument, "the input '", node.target(),
                      "' is missing");
      return call.args[0];
    case Opcode::GetAttr:
      return read_attribute(node);
    case Opcode::CallFunction:
      return call_function(node.target(), call.args, call.kwargs);
    case Opcode::CallMethod:
      return call_method(node.target(), call.args, call.kwargs);
    case Opcode::CallModule: {
      const ModulePtr module = module_.find_module(node.target());
      SPARSEBIT_CHECK(module, InvalidModel, "there is no module '", node.target(), "'");
      return module->invoke(call.args, call.kwargs);
    }
    case Opcode::Output:
      return call.args.at(0);
  }
  return None();
}

Value Interpreter::read_attribute(const Node& node) {
  if (const at::Tensor* tensor = module_.find_tensor(node.target())) return Tracer::read(*tensor);
  const Value* attribute = module_.find_attribute(node.target());
  SPARSEBIT_CHECK(attribute, InvalidModel, "there is no parameter, buffer or attribute '",
                  node.target(), "'");
  return *attribute;
}

namespace {

/// Recording shapes must not update batch-norm statistics or draw random numbers.
template <class Run>
void run_in_eval_mode(Module& module, const Run& run) {
  std::vector<std::pair<Module*, bool>> modes;
  for (const auto& [path, part] : module.named_modules())
    modes.emplace_back(part, part->is_training());
  const auto restore = [&modes] {
    for (const auto& [part, training] : modes) part->set_training(training);
  };
  module.eval();
  try {
    run();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

constexpr const char* kMaxWork = "SPARSEBIT_MAX_WORK";

/// The limit of the environment variable. Throws InvalidArgument unless it is positive.
double most_work() {
  constexpr double kUsual = 2e13;  // minutes; the largest models people have take 1e12 MACs
  const char* const text = std::getenv(kMaxWork);
  if (!text || *text == '\0') return kUsual;
  const char* const end = text + std::strlen(text);
  double work = 0;
  const auto [stop, error] = std::from_chars(text, end, work);
  SPARSEBIT_CHECK(error == std::errc() && stop == end && work > 0, InvalidArgument, kMaxWork,
                  ": expected a positive number of operations, such as 1e14, found '", text, "'");
  return work;
}

}  // namespace

Value record_shapes(GraphModule& module, std::vector<Value> inputs) {
  const WorkLimit limit(most_work(), kMaxWork);
  std::unordered_map<const Node*, TensorInfo> seen;
  Interpreter interpreter(module, RunMode::Inference);
  interpreter.skip_uncomputable();
  interpreter.add_hook({.before = {}, .after = [&](const Node& node, Value& value) {
                          if (!value.is_tensor()) return;
                          const at::Tensor& tensor = value.get<at::Tensor>();
                          seen[&node] = {tensor.sizes().vec(), tensor.scalar_type()};
                        }});
  Value result;
  run_in_eval_mode(module, [&] { result = interpreter.run(std::move(inputs)); });
  const auto uncomputable = uncomputable_nodes(module);
  for (Node& node : module.graph().nodes()) {
    if (uncomputable.contains(&node)) continue;  // keeps the shape that its file states
    const auto it = seen.find(&node);
    node.set_tensor_info(it == seen.end() ? std::nullopt : std::optional(it->second));
  }
  return result;
}

}  // namespace sparsebit::fx
