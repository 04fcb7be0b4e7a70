#include "sparsebit/data/model_facts.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::data {
namespace {

/// The value of a number, or the mean of a small constant tensor; nullopt for other values.
std::optional<double> constant(const fx::Value& value, const fx::GraphModule& module) {
  constexpr int64_t kMostChannels = 4;
  if (value.is_number()) return value.to_double();
  const bool is_attribute = value.is_node() && value.node().op() == fx::Opcode::GetAttr;
  const at::Tensor* tensor = value.is_tensor() ? &value.tensor()
                             : is_attribute    ? module.find_tensor(value.node().target())
                                               : nullptr;
  if (!tensor || !tensor->defined() || tensor->numel() == 0 || tensor->numel() > kMostChannels)
    return std::nullopt;
  return tensor->to(at::kDouble).mean().item<double>();
}

/// The affine function that the first nodes apply to a pixel: x * factor + offset.
struct Affine {
  double factor = 1, offset = 0;
  bool is_changed = false;

  double mean() const { return -offset / factor; }
};

/// Composes `affine` with an addition or multiplication by a constant. False for other operators.
bool follow(const fx::OperatorCall& call, const fx::Node& from, const fx::GraphModule& module,
            Affine& affine) {
  const std::string& name = call.op->row();
  const bool known = name == "add" || name == "sub" || name == "mul" || name == "div";
  if (!known) return false;
  const fx::Value &left = call.args["input"], &right = call.args["other"];
  const bool is_left = left.is_node() && &left.node() == &from;
  const bool commutes = name == "add" || name == "mul";
  const std::optional<double> number = is_left    ? constant(right, module)
                                       : commutes ? constant(left, module)
                                                  : std::nullopt;
  if (!number || (name == "div" && *number == 0)) return false;
  if (name == "add" || name == "sub") affine.offset += name == "add" ? *number : -*number;
  const double by = name == "mul" ? *number : name == "div" ? 1 / *number : 1;
  affine.factor *= by;
  affine.offset *= by;
  affine.is_changed = true;
  return true;
}

bool only_moves(const fx::OperatorCall& call) {
  static const std::vector<std::string> names = {"to",        "float",      "permute",
                                                 "transpose", "contiguous", "onnx.Transpose",
                                                 "onnx.Cast", "identity"};
  return std::find(names.begin(), names.end(), call.op->row()) != names.end();
}

/// The pixel range that a batch norm directly on the input was trained with.
std::optional<double> range_of_norm(const fx::OperatorCall& call, const fx::GraphModule& module) {
  const std::optional<double> mean = constant(call.args["running_mean"], module);
  const std::optional<double> variance = constant(call.args["running_var"], module);
  if (!mean || !variance) return std::nullopt;
  if (*mean > 30 && *variance > 100) return 255;
  const bool is_unit = *mean > 0.2 && *mean < 0.8 && *variance > 0.005 && *variance < 0.25;
  return is_unit ? std::optional<double>(1) : std::nullopt;
}

/// Factors like 1/255 and 1/58, or means like 104 and 128, imply pixels of 0..255; factors like
/// 1/0.229 with means like 0.45 imply 0..1.
std::optional<double> range_of(const Affine& affine) {
  if (!affine.is_changed || affine.factor <= 0) return std::nullopt;
  if (affine.factor <= 0.03 || (affine.mean() > 50 && affine.mean() < 200)) return 255;
  const bool is_unit =
      affine.factor >= 1.5 && affine.factor <= 6 && affine.mean() > 0.2 && affine.mean() < 0.8;
  return is_unit ? std::optional<double>(1) : std::nullopt;
}

std::optional<double> own_range(const fx::Node& input, const fx::GraphModule& module) {
  Affine affine;
  for (const fx::Node* node = &input; node->users().size() == 1;) {
    const fx::Node& next = *node->users().front();
    const std::optional<fx::OperatorCall> call = fx::resolve(next, module);
    if (!call) break;
    if (call->op->name == "batch_norm" && !affine.is_changed) return range_of_norm(*call, module);
    if (!only_moves(*call) && !follow(*call, *node, module, affine)) break;
    node = &next;
  }
  return range_of(affine);
}

/// Rows of the smallest embedding table that is indexed by these ids; 0 when there is none.
int64_t rows_looked_up(const fx::Node& ids, const fx::GraphModule& module) {
  int64_t rows = 0;
  const auto add = [&](const fx::Value& table) {
    const at::Tensor* tensor = table.is_tensor() ? &table.tensor()
                               : table.is_node() ? module.find_tensor(table.node().target())
                                                 : nullptr;
    if (tensor && tensor->dim() > 0 && (rows == 0 || tensor->size(0) < rows))
      rows = tensor->size(0);
  };
  for (const fx::Node* user : ids.users()) {
    const std::optional<fx::OperatorCall> call = fx::resolve(*user, module);
    if (!call) continue;
    if (call->op->name == "embedding") add(call->args["weight"]);
    if (call->op->name == "onnx.Gather") add(call->args["data"]);
    if (only_moves(*call) && rows == 0) rows = rows_looked_up(*user, module);
  }
  return rows;
}

void collect_outputs(const fx::Value& value, std::vector<ModelFacts::Output>& to) {
  if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) collect_outputs(item, to);
  } else if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) {
      collect_outputs(item, to);
      if (item.is_node()) to.back().name = key;
    }
  } else if (value.is_node()) {
    const auto& info = value.node().tensor_info();
    to.push_back({value.node().name(), info ? info->shape : std::vector<int64_t>()});
  }
}

}  // namespace

ModelFacts facts_of(const fx::GraphModule& module) {
  ModelFacts facts{.inputs = inputs_of(module)};
  for (const fx::Node* input : module.graph().placeholders()) {
    if (const auto range = own_range(*input, module)) facts.own_ranges[input->target()] = *range;
    if (const int64_t rows = rows_looked_up(*input, module))
      facts.table_rows[input->target()] = rows;
  }
  const fx::Node* output = module.graph().output_node();
  if (output && !output->args().empty()) collect_outputs(output->args()[0], facts.outputs);
  const std::vector<std::string>& names = module.output_names();
  if (names.size() == facts.outputs.size()) {
    for (size_t i = 0; i < names.size(); ++i) facts.outputs[i].name = names[i];
  }
  return facts;
}

}  // namespace sparsebit::data
