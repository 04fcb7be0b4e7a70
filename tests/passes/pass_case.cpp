#include "passes/pass_case.h"

#include "sparsebit/core/random.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sparsebit::passes::test {
namespace {

void collect(const fx::Value& value, std::vector<at::Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.tensor());
  if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) collect(item, tensors);
  }
}

std::string arguments(const fx::Node& node, size_t first) {
  std::string text;
  for (size_t i = first; i < node.args().size(); ++i)
    text += (text.empty() ? "" : ", ") + to_string(node.args()[i]);
  for (const auto& [name, value] : node.kwargs())
    text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return "(" + text + ")";
}

std::string call_text(const fx::Node& node) {
  switch (node.op()) {
    case fx::Opcode::Placeholder:
      return "input()";
    case fx::Opcode::GetAttr:
      return "self." + node.target();
    case fx::Opcode::CallModule:
      return "self." + node.target() + arguments(node, 0);
    case fx::Opcode::CallMethod:
      return to_string(node.args()[0]) + "." + node.target() + arguments(node, 1);
    default:
      return node.target() + arguments(node, 0);
  }
}

}  // namespace

std::unique_ptr<fx::GraphModule> model_of(const std::string& text, const Modules& modules,
                                          const Tensors& buffers) {
  auto module = std::make_unique<fx::GraphModule>(fx::parse_graph(text), "Model");
  for (const auto& [path, child] : modules) module->set_module(path, child);
  for (const auto& [name, tensor] : buffers) module->add_buffer(name, tensor);
  module->eval();
  return module;
}

std::string short_text(const fx::Graph& graph) {
  std::string text;
  for (const fx::Node& node : graph.nodes()) {
    text += node.op() == fx::Opcode::Output ? "return " + to_string(node.args()[0])
                                            : "%" + node.name() + " = " + call_text(node);
    text += "\n";
  }
  return text;
}

std::vector<at::Tensor> outputs_of(fx::GraphModule& module, const std::vector<fx::Value>& inputs) {
  std::vector<fx::Value> copies;  // a model may write to its inputs
  for (const fx::Value& input : inputs)
    copies.push_back(input.is_tensor() ? fx::Value(input.tensor().clone()) : input);
  std::vector<at::Tensor> tensors;
  collect(fx::Interpreter(module, fx::RunMode::Inference).run(std::move(copies)), tensors);
  return tensors;
}

double difference(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].sizes() != expected[i].sizes() ||
        found[i].scalar_type() != expected[i].scalar_type())
      return INFINITY;
    if (found[i].numel() == 0) continue;
    at::Tensor a = found[i].to(at::kDouble), b = expected[i].to(at::kDouble);
    if (!at::equal(a.isfinite(), b.isfinite())) return INFINITY;
    a = a.nan_to_num(0, 0, 0);
    b = b.nan_to_num(0, 0, 0);
    const double scale = std::max(1e-3, b.abs().max().item<double>());
    largest = std::max(largest, (a - b).abs().max().item<double>() / scale);
  }
  return largest;
}

std::string run_and_compare(fx::GraphModule& module, const std::vector<std::string>& passes,
                            const std::vector<fx::Value>& inputs, double tolerance) {
  const std::vector<at::Tensor> before = outputs_of(module, inputs);
  run_selected(module, passes);
  EXPECT_NO_THROW(fx::lint(module.graph(), module));
  EXPECT_LE(difference(outputs_of(module, inputs), before), tolerance);
  return short_text(module.graph());
}

std::string simplified(const char* pass, const std::string& text, const Modules& modules,
                       const Tensors& buffers, const std::vector<int64_t>& shape) {
  const auto module = model_of(text, modules, buffers);
  const std::vector<fx::Value> inputs = {random_input(shape)};
  fx::record_shapes(*module, {inputs[0].tensor().clone()});
  return run_and_compare(*module, {pass}, inputs);
}

fx::ModulePtr holder_of(const Tensors& parameters) {
  auto holder = std::make_shared<fx::Module>("Module", fx::Schema());
  for (const auto& [name, tensor] : parameters) holder->add_parameter(name, tensor);
  return holder;
}

fx::Value random_input(const std::vector<int64_t>& shape) {
  return at::empty(shape).normal_(0, 1, Random(7).generator());
}

void randomize(fx::Module& module, uint64_t seed) {
  const at::NoGradGuard no_gradients;
  const Random random(seed);
  for (const auto& item : module.named_parameters()) {
    at::Tensor tensor = item.value();
    tensor.normal_(0, 0.5, random.fork(item.key()).generator());
  }
  for (const auto& item : module.named_buffers()) {
    at::Tensor tensor = item.value();
    if (!tensor.is_floating_point()) continue;
    tensor.uniform_(0.2, 2.0, random.fork(item.key()).generator());
  }
}

}  // namespace sparsebit::passes::test
