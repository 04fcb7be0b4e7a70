#include "sparsebit/report/coverage.h"

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/placement/clipping.h"
#include "sparsebit/quant/placement/runtime_rules.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace sparsebit::report {
namespace {

using fx::Node;
using quant::IntegerForm;
using quant::Quantizer;

int64_t product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

class Reader {
 public:
  explicit Reader(const quant::QuantModel& model) : module_(model.module()) {}

  Coverage read() const {
    Coverage coverage;
    for (const Node& node : module_.graph().nodes()) {
      const std::optional<fx::OperatorCall> call = resolved(node);
      if (!call || computes_nothing(node, *call)) continue;
      StepCoverage step{.node = node.name(), .op = call->op->name};
      step.reason = reason_for_float(node, *call);
      step.integers = step.reason.empty();
      step.multiplications = multiplications(node, *call);
      coverage.steps.push_back(std::move(step));
    }
    return coverage;
  }

 private:
  /// Nothing for pairs, and for what calls no operator.
  std::optional<fx::OperatorCall> resolved(const Node& node) const {
    return quantizer_of(node) ? std::nullopt : fx::resolve(node, module_);
  }

  /// Nothing of it is written, or it only takes a tuple apart.
  static bool computes_nothing(const Node& node, const fx::OperatorCall& call) {
    static const std::unordered_set<std::string> names = {"contiguous", "clone",   "identity",
                                                          "detach",     "dropout", "getitem"};
    return names.contains(call.op->name) &&
           !(call.op->name == "getitem" && node.tensor_info() && call.args["input"].is_node() &&
             call.args["input"].node().tensor_info());
  }

  /// Of a node that is a pair in the file; null for others.
  const Quantizer* quantizer_of(const Node& node) const {
    if (node.op() != fx::Opcode::CallModule) return nullptr;
    const auto* quantizer = dynamic_cast<const Quantizer*>(module_.find(node.target()));
    return quantizer && !quantizer->is_off_for_good() ? quantizer : nullptr;
  }

  std::string reason_for_float(const Node& node, const fx::OperatorCall& call) const {
    if (const std::string reason = quant::onnxruntime_refuses(call); !reason.empty()) return reason;
    const quant::RuntimeRule* rule = quant::onnxruntime_rules().rules.find(call.op->name);
    if (rule->form == IntegerForm::Clipping) {
      return is_part_of_rounding(node, call) ? "" : "rounding behind it does not cut off the same";
    }
    std::vector<const Node*> operands;
    for (const std::string& name : rule->inputs) collect(call.args[name], operands);
    for (const Node* operand : operands) {
      const Quantizer* pair = quantizer_of(*operand);
      if (!pair) return "its input '" + operand->name() + "' has no pair";
      if (pair->spec().bits > 8) return "its input '" + operand->name() + "' has more than 8 bits";
      if (pair->spec().is_per_channel())
        return "its input '" + operand->name() + "' has a scale for each channel";
    }
    if (operands.empty()) return "its inputs are constants";
    if (rule->form == IntegerForm::Layer) {
      for (const char* name : {"weight", "bias"}) {
        const fx::Value& value = call.args[name];
        const bool fine = value.is_none() || (value.is_node() && quantizer_of(value.node()));
        if (!fine) return std::string("its ") + name + " is float";
        if (value.is_none() || name != std::string("weight")) continue;
        const quant::QuantSpec& spec = quantizer_of(value.node())->spec();
        if (spec.group_size > 0) return "its weight has a scale for each group";
        if (spec.bits > 8) return "its weight has more than 8 bits";
      }
    }
    return rule->needs_integer_result ? reason_of_results(node, *rule, operands) : "";
  }

  /// All results have to go to pairs, with the scale of the inputs where numbers are only copied.
  std::string reason_of_results(const Node& node, const quant::RuntimeRule& rule,
                                const std::vector<const Node*>& operands) const {
    const bool copies = rule.form == IntegerForm::Passing;
    for (const Node* user : node.users()) {
      const bool is_part = user->target() == "operator.getitem" && !node.tensor_info();
      if (is_part) {
        const std::string reason = reason_of_results(*user, rule, operands);
        if (!reason.empty()) return reason;
        continue;
      }
      const Quantizer* pair = quantizer_of(rounds_for(*user));
      if (!pair) return "its result goes to '" + user->name() + "' without a pair";
      for (const Node* operand : operands) {
        if (copies && quantizer_of(*operand) != pair)
          return "the scales of '" + operand->name() + "' and '" + user->name() + "' differ";
      }
    }
    return "";
  }

  /// A clipping that vanishes stands for the pair behind it.
  const Node& rounds_for(const Node& user) const {
    const auto call = resolved(user);
    return call && is_part_of_rounding(user, *call) ? **user.users().begin() : user;
  }

  bool is_part_of_rounding(const Node& node, const fx::OperatorCall& call) const {
    const auto bounds = quant::clip_bounds_of(call);
    if (!bounds || node.users().size() != 1) return false;
    const Quantizer* pair = quantizer_of(**node.users().begin());
    return pair && quant::rounding_clips(*bounds, *pair);
  }

  static void collect(const fx::Value& value, std::vector<const Node*>& nodes) {
    if (value.is_node()) nodes.push_back(&value.node());
    if (!value.is_sequence()) return;
    for (const fx::Value& item : value.items()) collect(item, nodes);
  }

  int64_t multiplications(const Node& node, const fx::OperatorCall& call) const {
    if (!node.tensor_info()) return 0;
    const int64_t results = product(node.tensor_info()->shape);
    const std::string& name = call.op->name;
    if (name == "matmul" || name == "bmm") {
      const auto& info = call.args["input"].is_node() ? call.args["input"].node().tensor_info()
                                                      : node.tensor_info();
      return info && !info->shape.empty() ? results * info->shape.back() : 0;
    }
    if (!name.starts_with("conv") && name != "linear") return 0;
    const std::vector<int64_t> weight = shape_of(call.args["weight"]);
    if (weight.empty()) return 0;
    if (!name.starts_with("conv_transpose")) return results * product(weight) / weight[0];
    const auto& input = call.args["input"].node().tensor_info();
    return input ? product(input->shape) * product(weight) / weight[0] : 0;
  }

  std::vector<int64_t> shape_of(const fx::Value& weight) const {
    if (weight.is_tensor()) return weight.tensor().sizes().vec();
    const bool is_quantizer =
        weight.node().op() == fx::Opcode::CallModule &&
        dynamic_cast<const Quantizer*>(module_.find(weight.node().target())) != nullptr;
    const Node& node = is_quantizer ? *weight.node().inputs().front() : weight.node();
    const at::Tensor* tensor =
        node.op() == fx::Opcode::GetAttr ? module_.find_tensor(node.target()) : nullptr;
    if (tensor) return tensor->sizes().vec();
    return node.tensor_info() ? node.tensor_info()->shape : std::vector<int64_t>();
  }

  const fx::GraphModule& module_;
};

}  // namespace

double Coverage::share_of_steps() const {
  const auto with = std::count_if(steps.begin(), steps.end(),
                                  [](const StepCoverage& step) { return step.integers; });
  return steps.empty() ? 1 : static_cast<double>(with) / static_cast<double>(steps.size());
}

double Coverage::share_of_multiplications() const {
  int64_t all = 0, with = 0;
  for (const StepCoverage& step : steps) {
    all += step.multiplications;
    with += step.integers ? step.multiplications : 0;
  }
  return all == 0 ? 1 : static_cast<double>(with) / static_cast<double>(all);
}

std::vector<const StepCoverage*> Coverage::floats() const {
  std::vector<const StepCoverage*> found;
  for (const StepCoverage& step : steps) {
    if (!step.integers) found.push_back(&step);
  }
  std::stable_sort(found.begin(), found.end(), [](const StepCoverage* a, const StepCoverage* b) {
    return a->multiplications > b->multiplications;
  });
  return found;
}

Coverage coverage_in_onnxruntime(const quant::QuantModel& model) { return Reader(model).read(); }

}  // namespace sparsebit::report
