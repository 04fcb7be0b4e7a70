#include "cli/model_summary.h"

#include "sparsebit/fx/computable.h"

#include <fmt/format.h>

#include <algorithm>

namespace sparsebit::cli {

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

int64_t count_parameters(const fx::GraphModule& module) {
  int64_t count = 0;
  for (const auto& item : module.named_parameters()) count += item.value().numel();
  return count;
}

std::string in_millions(int64_t count) {
  constexpr int64_t kSmall = 100'000;
  if (count < kSmall) return std::to_string(count);
  return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
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

}  // namespace sparsebit::cli
