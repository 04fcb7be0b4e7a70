#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/model_source.h"

#include "sparsebit/core/log.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>
#include <memory>

namespace sparsebit::cli {
namespace {

enum class Format { Table, Fx, Mermaid, Json };

const std::map<std::string, Format> kFormats = {{"table", Format::Table},
                                                {"fx", Format::Fx},
                                                {"mermaid", Format::Mermaid},
                                                {"json", Format::Json}};

struct InspectOptions {
  std::string model;
  std::string format = "table";
  bool json = false;
  std::vector<std::string> skip;
  CommonOptions common;
};

std::string list_zoo() {
  std::string text;
  for (const std::string& name : zoo::architectures().names()) {
    text += fmt::format("zoo:{:<14} {}\n", name, zoo::architectures().get(name).summary);
  }
  return text;
}

std::string in_millions(int64_t count) {
  return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
}

int64_t count_parameters(const fx::GraphModule& module) {
  int64_t count = 0;
  for (const auto& item : module.named_parameters()) count += item.value().numel();
  return count;
}

bool is_known(const fx::Node& node, const fx::GraphModule& module) {
  switch (node.op()) {
    case fx::Opcode::CallFunction:
    case fx::Opcode::CallMethod:
      return fx::find_spelling(node, module) != nullptr;
    case fx::Opcode::CallModule: {
      const fx::ModulePtr target = module.find_module(node.target());
      const bool has_own_forward = typeid(*target) != typeid(fx::Module);
      return has_own_forward || target->is_operator();
    }
    default:
      return true;
  }
}

/// Nodes whose operator or module is unknown, so that they cannot be executed.
std::vector<std::string> unknown_nodes(const fx::GraphModule& module) {
  std::vector<std::string> names;
  for (const fx::Node& node : module.graph().nodes()) {
    if (!is_known(node, module)) names.push_back(node.name() + " (" + node.target() + ")");
  }
  return names;
}

std::string summary(const fx::GraphModule& module) {
  std::string text = fmt::format("\n{}: {} nodes, {} parameters\n", module.type(),
                                 module.graph().size(), in_millions(count_parameters(module)));
  const std::vector<std::string> unknown = unknown_nodes(module);
  if (!unknown.empty()) text += fmt::format("not executable here: {}\n", fmt::join(unknown, ", "));
  return text;
}

std::string render(const fx::GraphModule& module, Format format) {
  switch (format) {
    case Format::Fx:
      return fx::to_text(module.graph());
    case Format::Mermaid:
      return fx::to_mermaid(module);
    case Format::Json:
      return fx::to_json(module);
    case Format::Table:
      break;
  }
  return fx::to_table(module) + summary(module);
}

void inspect(const InspectOptions& options, std::ostream& out) {
  apply(options.common);
  if (options.model == "zoo:list") {
    out << list_zoo();
    return;
  }
  zoo::Example example = load_model(options.model, options.common.seed);
  fx::QTracer tracer(options.skip);
  const std::unique_ptr<fx::GraphModule> traced = tracer.trace(*example.model);
  for (const std::string& pattern : tracer.unmatched_patterns()) {
    log_warning("--skip '{}' matches no module that {} calls", pattern, options.model);
  }
  // An unknown operator is carried and listed; only executing it would be an error.
  if (unknown_nodes(*traced).empty()) fx::record_shapes(*traced, std::move(example.inputs));
  out << render(*traced, options.json ? Format::Json : kFormats.at(options.format));
}

}  // namespace

void add_inspect_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* cmd = app.add_subcommand("inspect", "Show a model's graph");
  cmd->add_option("model", options->model, kModelHelp)->required();
  cmd->add_option("--format", options->format, "How to show it")
      ->check(CLI::IsMember(&kFormats))
      ->capture_default_str();
  cmd->add_flag("--json", options->json, "Same as --format json");
  cmd->add_option("--skip", options->skip,
                  "Keep modules whose path matches this pattern as one opaque step (repeatable)")
      ->allow_extra_args(false);
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit inspect zoo:resnet18\n"
      "  sparsebit inspect zoo:resnet18 --format fx --skip 'layer1*'\n"
      "  sparsebit inspect zoo:list");
  cmd->callback([options, &out] { inspect(*options, out); });
}

}  // namespace sparsebit::cli
