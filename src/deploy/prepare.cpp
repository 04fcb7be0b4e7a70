#include "sparsebit/deploy/prepare.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <algorithm>
#include <set>

namespace sparsebit::deploy {
namespace {

using platforms::PlatformPtr;

/// A tracer that does not trace into modules of the given types either.
class LeafTracer : public fx::Tracer {
 public:
  explicit LeafTracer(const std::vector<std::string>& types) : types_(types.begin(), types.end()) {}

  bool is_leaf_module(const fx::Module& module, const std::string& path) override {
    return types_.contains(module.type()) || Tracer::is_leaf_module(module, path);
  }

 private:
  std::set<std::string> types_;
};

/// A platform with the placement of academic_mode, as a YAML description, so that a saved
/// simulation keeps it.
PlatformPtr academic(const PlatformPtr& platform) {
  const PlatformPtr* known = platforms::platforms().find(platform->name);
  SPARSEBIT_CHECK(known && *known == platform, InvalidArgument,
                  "academic_mode is for built-in platforms only; set `placement` in the file of ",
                  platform->name, " instead");
  return platforms::parse_platform("name: " + platform->name + "\nbased_on: " + platform->name +
                                       "\nplacement: {transparent: [], unsigned_after: [relu]}\n",
                                   "academic_mode");
}

/// Replaces each module once, even if several calls share it.
void replace_modules(fx::GraphModule& graph, const CustomConfig& custom) {
  std::map<fx::ModulePtr, fx::ModulePtr> made;  // keeps replaced modules alive
  std::set<std::string> used;
  for (const fx::Node& node : graph.graph().nodes()) {
    if (node.op() != fx::Opcode::CallModule) continue;
    const fx::ModulePtr module = graph.find_module(node.target());
    SPARSEBIT_CHECK(module, InvalidModel, "node '", node.name(), "': there is no module '",
                    node.target(), "'");
    const auto mapping = custom.module_mapping.find(module->type());
    if (mapping == custom.module_mapping.end()) continue;
    used.insert(mapping->first);
    const auto [it, is_new] = made.emplace(module, nullptr);
    if (is_new) {
      const fx::ModulePtr replacement = mapping->second(*module);
      SPARSEBIT_CHECK(replacement, InvalidArgument, "module_mapping: the function for '",
                      mapping->first, "' returned no module");
      it->second = replacement;
      made.emplace(replacement, replacement);
    }
    graph.set_module(node.target(), it->second);
  }
  for (const auto& [type, make] : custom.module_mapping) {
    SPARSEBIT_CHECK(used.contains(type), InvalidArgument, "module_mapping: no module of type '",
                    type, "' is called in the model; remove the entry");
  }
}

template <class Work>
void at_place(const Setting& setting, const Work& work) {
  if (setting.where.empty()) return work();
  with_context(work, [&] { return setting.where; });
}

/// Checks the combined settings. The error starts with a key; if that is a setting of `custom`,
/// adds where it was set.
void check(const quant::QConfig& config, const CustomConfig& custom) {
  try {
    quant::check_qconfig(config);
  } catch (const Error& error) {
    for (const auto& [side, settings] :
         {std::pair("W.", &custom.weights), std::pair("A.", &custom.activations)}) {
      for (const Setting& setting : *settings) {
        if (std::string(error.what()).starts_with(side + setting.key))
          at_place(setting, [&] { throw Error(error); });
      }
    }
    throw;
  }
}

}  // namespace

quant::QConfig customized(quant::QConfig config, const CustomConfig& custom) {
  if (custom.academic_mode) {
    config.platform = academic(config.platform);
    config.schedule.fuse_bn = false;
    if (auto& range = config.weight.quantizer.range) range->low = -range->high;
  }
  for (const auto& [target, settings] :
       {std::pair(quant::Target::Weight, &custom.weights),
        std::pair(quant::Target::Activation, &custom.activations)}) {
    for (const Setting& setting : *settings)
      at_place(setting, [&] { config.set(target, setting.key, setting.value); });
  }
  check(config, custom);
  config.selection = custom.selection;
  for (const std::string& name : custom.extra_passes)
    passes::passes().get(name);  // throws if unknown
  config.schedule.passes_before = custom.extra_passes;
  config.schedule.extra = custom.fusions;
  return config;
}

quant::QuantModel prepare_by_platform(fx::Module& model, const std::string& platform,
                                      const CustomConfig& custom,
                                      const std::vector<fx::Value>& example) {
  const quant::QConfig config = customized(quant::default_qconfig(platform), custom);
  std::shared_ptr<fx::GraphModule> graph;
  if (const auto* given = dynamic_cast<const fx::GraphModule*>(&model)) {
    SPARSEBIT_CHECK(custom.trace.preserve.empty() && custom.trace.concrete_args.empty() &&
                        custom.leaf_modules.empty(),
                    InvalidArgument,
                    "preserve_attr, concrete_args and leaf_module are for models that are traced; "
                    "this model is a graph already");
    graph = given->clone_graph_module();
  } else {
    graph = LeafTracer(custom.leaf_modules).trace(model, custom.trace)->clone_graph_module();
  }
  if (!custom.module_mapping.empty()) replace_modules(*graph, custom);
  graph->eval();
  return quant::QuantModel(*graph, config, example);
}

}  // namespace sparsebit::deploy
