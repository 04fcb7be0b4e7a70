#include "easy/model_summary.h"

#include "sparsebit/core/how_many.h"
#include "sparsebit/fx/computable.h"
#include "sparsebit/fx/ops/value_text.h"

#include <fmt/format.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

namespace sparsebit::easy {

std::vector<std::string> unknown_nodes(const fx::GraphModule& module) {
  std::vector<std::string> names;
  for (const fx::Node& node : module.graph().nodes()) {
    if (fx::has_kernel(node, module)) continue;
    const fx::Value* reason = node.kwarg("_reason");
    const std::string why = reason && reason->is_string() ? ": " + reason->get<std::string>() : "";
    names.push_back(node.name() + " (" + node.target() + why + ")");
  }
  return names;
}

namespace {

/// The arguments of quantized operators that are weights or biases; the others are scales and zero
/// points.
const std::map<std::string, std::set<size_t>>& quantized_operators() {
  static const std::map<std::string, std::set<size_t>> weights = {
      {"onnx.DequantizeLinear", {0}},
      {"onnx.QuantizeLinear", {0}},
      {"onnx.QLinearConv", {3, 8}},
      {"onnx.QLinearMatMul", {0, 3}},
      {"onnx.ConvInteger", {1}},
      {"onnx.MatMulInteger", {1}},
      {"onnx.com.microsoft.QGemm", {3, 6}},
      {"onnx.com.microsoft.MatMulIntegerToFloat", {1, 6}},
      {"onnx.com.microsoft.QLinearAdd", {}},
      {"onnx.com.microsoft.QLinearGlobalAveragePool", {}}};
  return weights;
}

enum class Use { Weight, Parameter, Other };

/// How a constant of the graph is used.
Use use_of(const fx::Node& constant) {
  Use use = Use::Parameter;
  for (const fx::Node* user : constant.users()) {
    const auto known = quantized_operators().find(user->target());
    if (known == quantized_operators().end()) continue;
    use = Use::Other;
    for (const size_t i : known->second) {
      const bool here = i < user->args().size() && user->args()[i].is_node();
      if (here && &user->args()[i].node() == &constant) return Use::Weight;
    }
  }
  return use;
}

}  // namespace

std::vector<WeightCount> count_weights(const fx::GraphModule& module) {
  std::map<std::string, Use> uses;  // by path
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.op() == fx::Opcode::GetAttr) uses[node.target()] = use_of(node);
  }
  std::map<std::string, WeightCount> by_type;
  std::set<const void*> seen;
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !seen.insert(tensor.unsafeGetTensorImpl()).second) return;
    WeightCount& type = by_type[fx::dtype_name(tensor.scalar_type())];
    type.dtype = fx::dtype_name(tensor.scalar_type());
    type.count += tensor.numel();
    type.bytes += static_cast<int64_t>(tensor.nbytes());
  };
  for (const auto& item : module.named_parameters()) {
    const auto use = uses.find(item.key());
    if (use == uses.end() || use->second != Use::Other) add(item.value());
  }
  for (const auto& [path, use] : uses) {
    const at::Tensor* tensor = module.find_tensor(path);
    if (use == Use::Weight && tensor) add(*tensor);
  }
  std::vector<WeightCount> counts;
  for (auto& [name, type] : by_type) counts.push_back(std::move(type));
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return counts;
}

int64_t count_parameters(const fx::GraphModule& module) {
  int64_t count = 0;
  for (const WeightCount& type : count_weights(module)) count += type.count;
  return count;
}

std::string in_millions(int64_t count) {
  constexpr int64_t kSmall = 100'000;
  if (count < kSmall) return std::to_string(count);
  return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
}

std::string in_megabytes(int64_t bytes) {
  constexpr int64_t kSmall = 10'000;
  if (bytes < kSmall) return how_many(bytes, "byte");
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6);
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) line += fmt::format("{:<{}}  ", cell(i), widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  for (size_t r = 0; r < rows.size(); ++r) {
    add_line([&](size_t i) { return rows[r][i]; });
    if (r == 0) add_line([&](size_t i) { return std::string(widths[i], '-'); });
  }
  return text;
}

std::string short_list(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace sparsebit::easy
