#include "export/certificate/rounding_probe.h"

#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <set>
#include <string>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Opcode;

constexpr uint64_t kSeed = 1;

/// Operators that copy or select input values without computing new ones.
bool moves_numbers(const fx::Operator& op) {
  static const std::set<std::string> kMoving = {
      "cat",         "stack",      "roll",       "gather",     "index_select", "pad",
      "max_pool1d",  "max_pool2d", "max_pool3d", "relu",       "relu6",        "clamp",
      "hardtanh",    "flip",       "repeat",     "where",      "masked_fill",  "maximum",
      "minimum",     "amax",       "amin",       "max",        "min",          "dropout",
      "topk",        "sort",       "clone",      "contiguous", "tile",         "embedding",
      "broadcast_to"};
  return op.view || kMoving.contains(op.row());
}

/// Operators that IEEE 754 rounds once, so that all libraries agree.
bool is_exact_by_standard(const fx::Operator& op) {
  static const std::set<std::string> kExact = {
      "add", "sub",    "rsub", "mul", "div", "neg", "sqrt", "abs", "round", "onnx.QuantizeLinear",
      "to",  "type_as"};
  return kExact.contains(op.row());
}

bool carries_floats(const Node& node) {
  return node.tensor_info() && at::isFloatingType(node.tensor_info()->dtype);
}

bool sums_products(const fx::Operator& op) {
  return op.multiplies_operands || (op.weight && !op.weight->looks_up);
}

}  // namespace

RoundingProbe::RoundingProbe(fx::GraphModule& file, const fx::Kernels* kernels, bool exact_sums)
    : interpreter_(file, fx::RunMode::Inference),
      generator_(at::detail::createCPUGenerator(kSeed)) {
  if (kernels) interpreter_.use_kernels(*kernels);
  plan(file, exact_sums);
  interpreter_.add_hook({.before = {}, .after = [this](const Node& node, fx::Value& result) {
                           change(node, result);
                         }});
}

/// Values in `whole` are integer multiples of a scale: dequantized and not computed with since.
void RoundingProbe::plan(const fx::GraphModule& file, bool exact_sums) {
  std::set<const Node*> whole;
  for (const Node& node : file.graph().nodes()) {
    const fx::Spelling* spelling = fx::find_spelling(node, file);
    if (!spelling) continue;
    const fx::Operator& op = *spelling->op;
    const auto& inputs = node.inputs();
    const bool from_whole = std::all_of(inputs.begin(), inputs.end(), [&](const Node* input) {
      return whole.contains(input) || !carries_floats(*input);
    });
    if (op.name == "onnx.DequantizeLinear" || (moves_numbers(op) && from_whole)) {
      whole.insert(&node);
    } else if (sums_products(op)) {
      if (!exact_sums || !from_whole) steps_[&node] = Change::BitsOfLargest;
    } else if (!moves_numbers(op) && !is_exact_by_standard(op)) {
      steps_[&node] = Change::LastBit;
    }
  }
}

void RoundingProbe::change(const Node& node, fx::Value& result) {
  const auto step = steps_.find(&node);
  if (step == steps_.end() || !result.is_tensor()) return;
  const at::Tensor x = result.tensor();
  if (x.scalar_type() != at::kFloat || x.numel() == 0) return;
  // A rounding error is half a unit in the last place, 2^-24 or less; a sum of hundreds of products
  // accumulates several.
  constexpr double kOfOne = 0x1p-23, kOfSums = 0x1p-22;
  const at::Tensor way = at::randint(-1, 2, x.sizes(), generator_, x.options());
  const at::Tensor size =
      step->second == Change::LastBit ? x.abs() * kOfOne : at::nan_to_num(x.abs()).max() * kOfSums;
  result = x + way * size;
}

fx::Value RoundingProbe::run(std::vector<fx::Value> inputs) {
  return interpreter_.run(std::move(inputs));
}

}  // namespace sparsebit::exports
