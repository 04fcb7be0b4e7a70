#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/input_options.h"
#include "cli/model_signature.h"
#include "cli/option_values.h"
#include "cli/pass_options.h"
#include "easy/model_inputs.h"
#include "easy/model_source.h"
#include "easy/model_summary.h"
#include "easy/usage_error.h"

#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <sstream>

namespace sparsebit::cli {
namespace {

enum class Format { Table, Fx, Mermaid, Json };

const std::map<std::string, Format> kFormats = {{"table", Format::Table},
                                                {"fx", Format::Fx},
                                                {"mermaid", Format::Mermaid},
                                                {"json", Format::Json}};

struct InspectOptions {
  std::string model;
  std::string format;  ///< empty: table
  bool json = false;
  std::vector<std::string> skip;
  InputOptions inputs;
  PassOptions passes;
  CommonOptions common;
};

std::string list_zoo(Format format) {
  if (format == Format::Json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::string& name : zoo::architectures().names()) {
      list.push_back(
          {{"name", "zoo:" + name}, {"summary", zoo::architectures().get(name).summary}});
    }
    return json_text(list);
  }
  std::string text;
  for (const std::string& name : zoo::architectures().names()) {
    text += fmt::format("zoo:{:<14} {}\n", name, zoo::architectures().get(name).summary);
  }
  return text;
}

Format chosen_format(const InspectOptions& options) {
  const bool other = !options.format.empty() && options.format != "json";
  if (options.json && other) {
    throw UsageError("--json means --format json and cannot go with --format " + options.format);
  }
  if (options.json) return Format::Json;
  return options.format.empty() ? Format::Table : kFormats.at(options.format);
}

std::string summary(const fx::GraphModule& module) {
  std::string text = fmt::format("\n{}: {}, {} parameters\n", printable(module.type(), kMostOfCell),
                                 how_many(static_cast<int64_t>(module.graph().size()), "node"),
                                 in_millions(count_parameters(module)));
  const std::vector<WeightCount> types = count_weights(module);
  for (const WeightCount& type : types) {
    if (types.size() > 1 || type.dtype != "float32")
      text += fmt::format("  {:<8} {:>9}  {}\n", type.dtype, in_millions(type.count),
                          in_megabytes(type.bytes));
  }
  const std::vector<std::string> unknown = unknown_nodes(module);
  if (!unknown.empty())
    text += fmt::format("unknown operators, cannot be run: {}\n",
                        printable(fmt::format("{}", fmt::join(unknown, ", ")), kMostOfMessage));
  return text;
}

std::string render(const fx::GraphModule& module, const std::optional<fx::Value>& result,
                   Format format) {
  const std::vector<Slot> inputs = input_slots(module), outputs = output_slots(module, result);
  switch (format) {
    case Format::Fx:
      return fx::to_text(module.graph());
    case Format::Mermaid:
      return fx::to_mermaid(module);
    case Format::Json:
      return model_as_json(module, inputs, outputs);
    case Format::Table:
      break;
  }
  return fx::to_table(module) + summary(module) + signature_as_text(inputs, outputs);
}

/// The graph and the changes made by passes, as comments of the format.
std::string with_changes(const std::string& graph, const std::vector<passes::Change>& changes,
                         Format format) {
  if (format == Format::Json) {
    nlohmann::ordered_json object = nlohmann::ordered_json::parse(graph);
    object["passes"] = nlohmann::ordered_json::parse(changes_as_json(changes));
    return json_text(object);
  }
  const char* comment = format == Format::Fx ? "# " : format == Format::Mermaid ? "%% " : "  ";
  std::string text = graph;
  if (format == Format::Table) text += fmt::format("\npasses: {}\n", counted(changes));
  if (changes.empty()) return text;
  std::istringstream lines(changes_as_text(changes));
  for (std::string line; std::getline(lines, line);) text += comment + line + "\n";
  return text;
}

void inspect(const InspectOptions& options, std::ostream& out) {
  apply(options.common);
  check_pass_options(options.passes);
  const Format format = chosen_format(options);
  if (options.model == kZooList) {
    out << list_zoo(format);
    return;
  }
  const ModelOptions model_options{.skip = options.skip,
                                   .given_inputs = named_inputs(options.inputs),
                                   .shapes = known_shapes(options.inputs),
                                   .seed = options.common.seed};
  LoadedModel model = load_model(options.model, model_options);
  apply_shapes(model, options.inputs, model_options.shapes);
  const std::optional<fx::Value> result = record_shapes(model, options.inputs, options.common.seed);
  if (!options.passes.any()) {
    out << render(*model.module, result, format);
    return;
  }
  const passes::PassReport report = run_passes(*model.module, options.passes, result.has_value());
  const std::vector<passes::Change> changes = chosen_changes(report, *model.module, options.passes);
  if (result && !report.changes.empty())  // for the shapes of new nodes
    record_shapes(model, options.inputs, options.common.seed);
  if (!options.passes.list) {
    out << with_changes(render(*model.module, result, format), changes, format);
  } else {
    out << (format == Format::Json ? changes_as_json(changes) : changes_as_text(changes));
  }
}

}  // namespace

void add_inspect_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* cmd = app.add_subcommand("inspect", "Show a model's graph");
  cmd->add_option("model", options->model, kModelHelp)
      ->required()
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  cmd->add_option("--format", options->format, "Output format. Default: table")
      ->check(CLI::IsMember(&kFormats));
  cmd->add_flag("--json", options->json, "Same as --format json");
  add_skip_option(*cmd, options->skip);
  add_shape_option(*cmd, options->inputs.shapes);
  add_pass_options(*cmd, options->passes);
  add_change_options(*cmd, options->passes);
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit inspect zoo:resnet18\n"
      "  sparsebit inspect zoo:resnet18 --format fx --skip 'layer1*'\n"
      "  sparsebit inspect model.onnx --shape x=1x3x224x224\n"
      "  sparsebit inspect model.onnx --simplify --fuse\n"
      "  sparsebit inspect model.onnx --simplify --fuse --passes --node conv1\n"
      "  sparsebit inspect zoo:list");
  cmd->callback([options, &out] { inspect(*options, out); });
}

}  // namespace sparsebit::cli
