#include "sparsebit/deploy/prepare.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <algorithm>
#include <set>

namespace sparsebit::deploy {
namespace {

using platforms::PlatformPtr;

/// Stops at modules of some types as well.
class LeafTracer : public fx::Tracer {
 public:
  explicit LeafTracer(const std::vector<std::string>& types) : types_(types.begin(), types.end()) {}

  bool is_leaf_module(const fx::Module& module, const std::string& path) override {
    return types_.contains(module.type()) || Tracer::is_leaf_module(module, path);
  }

 private:
  std::set<std::string> types_;
};

/// A description, so that a saved simulation has it, too.
PlatformPtr academic(const PlatformPtr& platform) {
  const PlatformPtr* known = platforms::platforms().find(platform->name);
  SPARSEBIT_CHECK(known && *known == platform, InvalidArgument,
                  "academic_mode is for built-in platforms; write a placement of its own into ",
                  platform->name);
  return platforms::parse_platform("name: " + platform->name + "\nbased_on: " + platform->name +
                                       "\nplacement: {transparent: [], unsigned_after: [relu]}\n",
                                   "academic_mode");
}

/// Each module once, also where several calls share it.
void replace_modules(fx::GraphModule& graph, const CustomConfig& custom) {
  std::map<const fx::Module*, fx::ModulePtr> made;
  std::set<std::string> used;
  for (const fx::Node& node : graph.graph().nodes()) {
    if (node.op() != fx::Opcode::CallModule) continue;
    const fx::ModulePtr module = graph.find_module(node.target());
    const auto mapping = custom.module_mapping.find(module->type());
    if (mapping == custom.module_mapping.end()) continue;
    used.insert(mapping->first);
    const auto [it, is_new] = made.emplace(module.get(), nullptr);
    if (is_new) {
      it->second = mapping->second(*module);
      made.emplace(it->second.get(), it->second);
    }
    graph.set_module(node.target(), it->second);
  }
  for (const auto& [type, make] : custom.module_mapping) {
    SPARSEBIT_CHECK(used.contains(type), InvalidArgument, "module_mapping: no module of type '",
                    type, "' is called in the model");
  }
}

void apply(const Setting& setting, quant::Target target, quant::QConfig& config) {
  with_context([&] { config.set(target, setting.key, setting.value); },
               [&] { return setting.where; });
}

}  // namespace

quant::QConfig customized(quant::QConfig config, const CustomConfig& custom) {
  if (custom.academic_mode) {
    config.platform = academic(config.platform);
    config.schedule.fuse_bn = false;
    if (auto& range = config.weight.quantizer.range) range->low = -range->high;
  }
  for (const Setting& setting : custom.weights) apply(setting, quant::Target::Weight, config);
  for (const Setting& setting : custom.activations) apply(setting, quant::Target::Feature, config);
  quant::check_qconfig(config);
  config.selection = custom.selection;
  for (const std::string& name : custom.extra_passes) passes::passes().get(name);  // or throw
  config.schedule.first = custom.extra_passes;
  return config;
}

quant::QuantModel prepare_by_platform(fx::Module& model, const std::string& platform,
                                      const CustomConfig& custom,
                                      const std::vector<fx::Value>& example) {
  quant::QConfig config =
      customized(quant::default_qconfig(platforms::find_platform(platform)), custom);
  config.schedule.extra = custom.fusions;
  std::shared_ptr<fx::GraphModule> graph;
  if (const auto* given = dynamic_cast<const fx::GraphModule*>(&model)) {
    SPARSEBIT_CHECK(custom.trace.preserve.empty() && custom.trace.concrete_args.empty() &&
                        custom.leaf_modules.empty(),
                    InvalidArgument,
                    "preserve_attr, concrete_args and leaf_module are for models that are traced, "
                    "and this is a graph already");
    graph = given->clone_graph_module();
  } else {
    graph = LeafTracer(custom.leaf_modules).trace(model, custom.trace)->clone_graph_module();
  }
  if (!custom.module_mapping.empty()) replace_modules(*graph, custom);
  graph->eval();
  return quant::QuantModel(*graph, config, example);
}

}  // namespace sparsebit::deploy
