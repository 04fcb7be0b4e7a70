#include "cli/pass_options.h"

#include "cli/easy_names.h"
#include "cli/option_values.h"
#include "easy/model_summary.h"
#include "easy/usage_error.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/near_match.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace sparsebit::cli {

void add_pass_options(CLI::App& command, PassOptions& options) {
  command.add_flag("--simplify", options.simplify,
                   "Simplify the graph: fold constants, remove dropout, recognize layers");
  command.add_flag("--fuse", options.fuse, "Fold batch norms into adjacent layers");
  command.add_flag("--equalize", options.equalize,
                   "Equalize the channel ranges of consecutive layers");
  command.add_option("--without", options.without, "Pass to skip (repeatable)")
      ->allow_extra_args(false)
      ->type_name(value_kind::kPass);
}

void add_change_options(CLI::App& command, PassOptions& options) {
  command.add_flag("--passes", options.list,
                   "Show the changes made by the passes instead of the graph");
  command
      .add_option("--node", options.nodes,
                  "With --passes: only changes that led to this node (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME");
}

namespace {

std::string option_of(passes::Stage stage) {
  switch (stage) {
    case passes::Stage::Simplify:
      return "--simplify";
    case passes::Stage::Fuse:
      return "--fuse";
    case passes::Stage::Equalize:
      return "--equalize";
  }
  return "";
}

bool runs(const PassOptions& options, passes::Stage stage) {
  switch (stage) {
    case passes::Stage::Simplify:
      return options.simplify;
    case passes::Stage::Fuse:
      return options.fuse;
    case passes::Stage::Equalize:
      return options.equalize;
  }
  return false;
}

constexpr auto kStages = {passes::Stage::Simplify, passes::Stage::Fuse, passes::Stage::Equalize};

/// Refuses unknown passes, and passes that would not run anyway: probably a mistake.
void check_without(const std::string& wish, const PassOptions& options) {
  const std::string name = lower_case(wish);
  const std::vector<std::string> known = passes::passes().names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string near = did_you_mean(name, known);
    throw UsageError("--without " + name + ": unknown pass" +
                     (near.empty() ? fmt::format("; known are {}", fmt::join(known, ", ")) : near));
  }
  const passes::Stage stage = passes::passes().get(name).stage;
  if (!runs(options, stage)) {
    throw UsageError("--without " + name + ": this pass runs only with " + option_of(stage));
  }
}

}  // namespace

void check_pass_options(const PassOptions& options) {
  if (!options.nodes.empty() && !options.list) throw UsageError("--node needs --passes");
  if (!options.any() && (options.list || !options.without.empty())) {
    throw UsageError(fmt::format("{} needs --simplify, --fuse or --equalize",
                                 options.list ? "--passes" : "--without"));
  }
  for (const std::string& name : options.without) check_without(name, options);
}

passes::PassReport run_passes(fx::GraphModule& module, const PassOptions& options,
                              bool shapes_known) {
  if (!options.any()) return {};
  if (!shapes_known) {
    log_warning(
        "shapes are unknown, so some passes may find nothing to do; give the shapes of dynamic "
        "inputs with --shape NAME=SIZES");
  }
  module.eval();
  passes::Schedule schedule{.stages = {}};
  for (const passes::Stage stage : kStages) {
    if (runs(options, stage)) schedule.stages.push_back(stage);
  }
  for (const std::string& name : options.without) schedule.switches[name] = false;
  return passes::run_passes(module, schedule);
}

namespace {

/// Names of all nodes before and after the passes.
std::set<std::string> names_of_nodes(const passes::PassReport& report,
                                     const fx::GraphModule& module) {
  std::set<std::string> names;
  for (const fx::Node& node : module.graph().nodes()) names.insert(node.name());
  for (const passes::Change& change : report.changes)
    names.insert(change.before.begin(), change.before.end());
  return names;
}

/// The node that calls a module: "features_conv0" for "features.conv0".
std::string node_name(const std::string& wish, const fx::GraphModule& module) {
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.op() == fx::Opcode::CallModule && node.target() == wish) return node.name();
  }
  return wish;
}

}  // namespace

std::vector<passes::Change> chosen_changes(const passes::PassReport& report,
                                           const fx::GraphModule& module,
                                           const PassOptions& options) {
  if (options.nodes.empty()) return report.changes;
  const std::set<std::string> known = names_of_nodes(report, module);
  std::vector<std::string> chosen;
  for (const std::string& wish : options.nodes) {
    chosen.push_back(known.contains(wish) ? wish : node_name(wish, module));
    const std::string near = did_you_mean(wish, {known.begin(), known.end()});
    SPARSEBIT_CHECK(known.contains(chosen.back()), InvalidArgument, "--node ", wish,
                    ": no node of this name before or after the passes",
                    near.empty() ? "; `sparsebit inspect` lists the names" : near);
  }
  return report.history_of(chosen);
}

std::string counted(const std::vector<passes::Change>& changes) {
  return how_many(std::ssize(changes), "change");
}

std::string changes_as_text(const std::vector<passes::Change>& changes) {
  if (changes.empty()) return "no changes\n";
  size_t width = 0;
  for (const passes::Change& change : changes) width = std::max(width, change.pass.size());
  std::string text;
  for (const passes::Change& change : changes) {
    text += fmt::format("{:<{}}  {} -> {}\n", change.pass, width, fmt::join(change.before, ", "),
                        fmt::join(change.after, ", "));
  }
  return text;
}

std::string changes_as_json(const std::vector<passes::Change>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const passes::Change& change : changes) {
    list.push_back({{"pass", change.pass}, {"before", change.before}, {"after", change.after}});
  }
  return json_text(list);
}

}  // namespace sparsebit::cli
