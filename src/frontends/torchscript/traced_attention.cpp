// torch.nn.MultiheadAttention in traced files. Its forward consists of some forty operators that do
// not state the layer's arguments, so these are guessed, and the guess is verified numerically.

#include "frontends/torchscript/leaf.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph_module.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

constexpr double kSameResult = 1e-5;

/// The number of heads: `embed_dim // num_heads` is the only division of sizes.
std::optional<int64_t> count_heads(const fx::Graph& graph) {
  for (const fx::Node& node : graph.nodes()) {
    const bool division = node.target() == "operator.floordiv" && node.args().size() == 2;
    if (division && node.args()[1].is_int()) return node.args()[1].to_int();
  }
  return std::nullopt;
}

bool drops_values(const fx::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const fx::Node& node) {
    return node.target().find("dropout") != std::string::npos;
  });
}

/// Example query, key and value; no two sizes are equal by chance.
std::vector<Value> example_inputs(size_t count, bool batch_first, const at::Tensor& weight) {
  const int64_t width = weight.size(1);
  const at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(1);  // separate from the caller's
  std::vector<Value> inputs;
  for (size_t i = 0; i < count; ++i) {
    const int64_t length = i == 0 ? 3 : 5, batch = 2;
    inputs.emplace_back(batch_first
                            ? at::randn({batch, length, width}, generator, weight.options())
                            : at::randn({length, batch, width}, generator, weight.options()));
  }
  return inputs;
}

/// Query, key and value from the inputs of a traced layer, which has each distinct one only once.
std::vector<Value> spread(const std::vector<Value>& inputs) {
  return {inputs[0], inputs.size() > 1 ? inputs[1] : inputs[0], inputs.back()};
}

bool close(const Value& ours, const Value& theirs) {
  return ours.is_tensor() && theirs.is_tensor() &&
         ours.tensor().sizes() == theirs.tensor().sizes() &&
         at::allclose(ours.tensor(), theirs.tensor(), kSameResult, kSameResult);
}

/// Whether layer and code give the same results on random inputs.
bool gives_the_same(fx::Module& layer, fx::GraphModule& code, bool batch_first, bool weights) {
  const at::NoGradGuard no_grad;
  const at::Tensor& weight = *layer.find_tensor("in_proj_weight");
  const std::vector<Value> inputs =
      example_inputs(code.graph().placeholders().size(), batch_first, weight);
  try {
    const Value expected = code.invoke(inputs);
    std::vector<Value> args = spread(inputs);
    args.insert(args.end(), {Value(), Value(weights)});
    const Value result = layer.invoke(args);
    if (!weights) return close(result.items()[0], expected);
    return close(result.items()[0], expected.items()[0]) &&
           close(result.items()[1], expected.items()[1]);
  } catch (const Error&) {
    return false;  // such as sizes that were fixed while tracing
  }
}

fx::ModulePtr try_layer(const fx::Spelling& spelling, const fx::Module& mirror, int64_t heads,
                        bool batch_first) {
  return make_leaf(spelling,
                   {{"embed_dim", mirror.find_tensor("in_proj_weight")->size(1)},
                    {"num_heads", heads},
                    {"bias", *implied_argument(mirror, "bias")},
                    {"batch_first", batch_first}},
                   mirror);
}

/// Writes the call as one node with two results.
void write_call(TracedLeaf& leaf, bool weights) {
  auto graph = std::make_shared<fx::Graph>();
  std::vector<Value> inputs;
  leaf.placeholders.clear();
  for (const fx::Node* input : leaf.graph->placeholders()) {
    fx::Node& copy = graph->placeholder(input->target());
    leaf.placeholders.push_back(&copy);
    inputs.emplace_back(copy);
  }
  leaf.inputs = spread(inputs);
  leaf.inputs.insert(leaf.inputs.end(), {Value(), Value(weights), Value(), Value(true)});
  fx::Node& core = graph->call_function("torch.nn.functional.multi_head_attention_forward", {});
  leaf.core = &core;
  const Value first = graph->call_function("operator.getitem", {core, 0});
  leaf.output = first;
  if (weights) leaf.output = fx::Tuple{first, graph->call_function("operator.getitem", {core, 1})};
  leaf.graph = std::move(graph);
}

}  // namespace

std::optional<TracedLeaf> attention_from_code(const fx::Spelling& spelling,
                                              const fx::Module& mirror, SourceModel& source,
                                              TracedLeaf leaf) {
  const at::Tensor* projection = mirror.find_tensor("in_proj_weight");
  const bool plain = projection && projection->defined() && !mirror.find_tensor("bias_k") &&
                     mirror.find_tensor("out_proj.weight");
  const size_t inputs = leaf.placeholders.size();
  const std::optional<int64_t> heads = count_heads(*leaf.graph);
  if (!plain || !heads || inputs < 1 || inputs > 3 || drops_values(*leaf.graph))
    return std::nullopt;
  const bool weights = leaf.output.is_sequence() && leaf.output.items().size() == 2;
  if (!weights && !leaf.output.is_node()) return std::nullopt;
  leaf.graph->output(leaf.output);
  fx::GraphModule code(source.root(), leaf.graph->clone(), "code");
  for (const bool batch_first : {true, false}) {
    leaf.module = try_layer(spelling, mirror, *heads, batch_first);
    if (!gives_the_same(*leaf.module, code, batch_first, weights)) continue;
    write_call(leaf, weights);
    return leaf;
  }
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript
