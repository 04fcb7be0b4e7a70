#include "sparsebit/fx/printer.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"

#include "sparsebit/fx/ops/value_text.h"
#include "sparsebit/fx/resolve.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace sparsebit::fx {
namespace {

std::string percent_name(const Node& node) { return "%" + node.name(); }

std::string kwargs_text(const Kwargs& kwargs) {
  Dict dict;
  dict.items = kwargs;
  return to_string(Value(dict));
}

std::string args_text(const Node& node) { return to_string(Value(Tuple(node.args()))); }

/// The column `kind` of a node: its module's type, its operator's name, or its role.
std::string kind_of(const Node& node, const GraphModule& module) {
  switch (node.op()) {
    case Opcode::Placeholder:
      return "input";
    case Opcode::Output:
      return "output";
    case Opcode::GetAttr: {
      const auto [parent, name] = split_path(node.target());
      const Module* owner = module.find(parent);
      return owner && owner->own_parameters().contains(name) ? "nn.Parameter" : "buffer";
    }
    case Opcode::CallModule: {
      const ModulePtr target = module.find_module(node.target());
      return target ? target->type() : "?";
    }
    default: {
      const Spelling* spelling = find_spelling(node, module);
      return spelling ? spelling->op->name : "?";
    }
  }
}

std::string shape_text(const Node& node) {
  return node.tensor_info() ? to_string(*node.tensor_info()) : "";
}

using Row = std::array<std::string, 7>;

std::string format_rows(const std::vector<Row>& rows, bool with_shapes) {
  constexpr size_t kShapeColumn = 4;
  std::array<size_t, 7> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      if (i == kShapeColumn && !with_shapes) continue;
      line += fmt::format("{:<{}}  ", rows[r][i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      std::string rule;
      for (size_t i = 0; i < widths.size(); ++i) {
        if (i != kShapeColumn || with_shapes) rule += std::string(widths[i], '-') + "  ";
      }
      rule.erase(rule.find_last_not_of(' ') + 1);
      text += rule + "\n";
    }
  }
  return text;
}

/// Mermaid reads labels as HTML and has entities of its own; this keeps every character visible.
std::string escape_label(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '"':
        escaped += "#quot;";
        break;
      case '<':
        escaped += "#lt;";
        break;
      case '>':
        escaped += "#gt;";
        break;
      case '#':
        escaped += "#35;";
        break;
      case '&':
        escaped += "#amp;";
        break;
      case '\n':
        escaped += " ";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// The first `bytes` bytes at most, cut between UTF-8 characters.
std::string shortened(std::string text, size_t bytes) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= bytes) return text;
  size_t end = bytes - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.replace(end, std::string::npos, kMore);
  return text;
}

/// Mermaid's keywords cannot be node ids.
std::string mermaid_id(const Node& node) {
  static const std::array<std::string_view, 10> words = {
      "end",   "graph",    "subgraph", "style",     "linkStyle",
      "click", "classDef", "default",  "flowchart", "direction"};
  const bool taken = std::find(words.begin(), words.end(), node.name()) != words.end();
  return taken ? node.name() + "_node" : node.name();
}

nlohmann::ordered_json node_json(const Node& node, const GraphModule& module) {
  nlohmann::ordered_json json = {{"name", node.name()},
                                 {"op", to_string(node.op())},
                                 {"target", node.target()},
                                 {"kind", kind_of(node, module)},
                                 {"module_path", node.module_path()}};
  if (!node.source_name().empty()) json["source_name"] = node.source_name();
  json["args"] = nlohmann::json::array();
  for (const Argument& arg : node.args()) json["args"].push_back(to_string(arg));
  json["kwargs"] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : node.kwargs()) json["kwargs"][key] = to_string(value);
  json["inputs"] = nlohmann::json::array();
  for (const Node* input : node.inputs()) json["inputs"].push_back(input->name());
  json["users"] = nlohmann::json::array();
  for (const Node* user : node.users()) json["users"].push_back(user->name());
  if (node.tensor_info()) {
    json["shape"] = node.tensor_info()->shape;
    json["dtype"] = dtype_name(node.tensor_info()->dtype);
  }
  return json;
}

}  // namespace

std::string to_string(const Value& value) { return format_value(value, percent_name); }

std::string to_string(const Node& node) {
  if (node.op() == Opcode::Output) {
    return "return " + format_value(node.args().at(0), [](const Node& n) { return n.name(); });
  }
  std::string text = fmt::format("%{} : [#users={}] = {}[target={}]", node.name(),
                                 node.users().size(), to_string(node.op()), node.target());
  if (node.op() == Opcode::Placeholder) {
    if (!node.args().empty()) text += "(default=" + to_string(node.args()[0]) + ")";
  } else if (node.op() != Opcode::GetAttr) {
    text += fmt::format("(args={}, kwargs={})", args_text(node), kwargs_text(node.kwargs()));
  }
  return text;
}

std::string to_string(const TensorInfo& info) {
  std::vector<std::string> sizes;
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const std::string symbol = i < info.symbols.size() ? info.symbols[i] : "";
    sizes.push_back(info.shape[i] >= 0 ? std::to_string(info.shape[i])
                                       : (symbol.empty() ? "?" : symbol));
  }
  return fmt::format("{}[{}]", dtype_name(info.dtype), fmt::join(sizes, ", "));
}

std::string to_text(const Graph& graph) {
  std::string text = "graph:\n";
  for (const Node& node : graph.nodes()) text += "    " + to_string(node) + "\n";
  return text;
}

std::string to_table(const GraphModule& module) {
  constexpr size_t kWidest = 160;
  std::vector<Row> rows = {{"opcode", "name", "target", "kind", "output", "args", "kwargs"}};
  bool with_shapes = false;
  for (const Node& node : module.graph().nodes()) {
    const auto cell = [](const std::string& text) { return printable(text, kMostOfCell); };
    const std::string kwargs = node.kwargs().empty() ? "" : kwargs_text(node.kwargs());
    rows.push_back({std::string(to_string(node.op())), cell(node.name()), cell(node.target()),
                    cell(kind_of(node, module)), cell(shape_text(node)),
                    printable(shortened(args_text(node), kWidest)),
                    printable(shortened(kwargs, kWidest))});
    with_shapes |= node.tensor_info().has_value();
  }
  return format_rows(rows, with_shapes);
}

std::string to_mermaid(const GraphModule& module) {
  std::string nodes, edges;
  for (const Node& node : module.graph().nodes()) {
    const std::string label =
        fmt::format("{}({}), <<{}>>", node.name(), node.target(), kind_of(node, module));
    nodes += fmt::format("{}[\"{}\"]\n", mermaid_id(node), escape_label(label));
    if (node.op() == Opcode::Placeholder || node.op() == Opcode::Output) {
      nodes += fmt::format("style {} fill:#cafe02\n", mermaid_id(node));
    }
    for (const Node* input : node.inputs()) {
      edges += fmt::format("{} --> {}\n", mermaid_id(*input), mermaid_id(node));
    }
  }
  return "graph TD\n" + nodes + edges;
}

std::string to_json(const GraphModule& module) {
  nlohmann::ordered_json json = {{"model", module.type()}, {"nodes", nlohmann::json::array()}};
  for (const Node& node : module.graph().nodes()) json["nodes"].push_back(node_json(node, module));
  // Names come from files, whose bytes need not be UTF-8.
  return json_text(json);
}

}  // namespace sparsebit::fx
