#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/interpreter.h"
#include "frontends/torchscript/large_stack.h"
#include "frontends/torchscript/leaf.h"
#include "frontends/torchscript/opaque_module.h"
#include "frontends/torchscript/output_names.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/glob.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/frontends/torchscript.h"
#include "sparsebit/fx/dead_code.h"

#include <algorithm>
#include <regex>
#include <set>

namespace sparsebit::frontends {
namespace torchscript {
namespace {

using fx::Value;

/// Decides which modules are leaves, and converts their calls.
class Leaves : public ModuleCalls {
 public:
  Leaves(SourceModel& source, const std::vector<std::string>& skip)
      : source_(source), skip_(skip), matched_(skip.size()) {}

  std::optional<ScriptValue> call_leaf(Interpreter& interpreter, const torch::jit::Module& module,
                                       const std::string& path, const std::string& method,
                                       const ScriptValues& args) override;

  std::vector<std::string> unmatched_patterns() const {
    std::vector<std::string> result;
    for (size_t i = 0; i < skip_.size(); ++i) {
      if (!matched_[i]) result.push_back(skip_[i]);
    }
    return result;
  }

 private:
  bool is_skipped(const std::string& path);
  ScriptValue call_opaque(GraphBuilder& builder, const torch::jit::Module& module,
                          const std::string& path, const std::string& method,
                          const ScriptValues& args);
  ScriptValue call_module(GraphBuilder& builder, const std::string& path, const fx::Module& leaf,
                          const ScriptValues& args);

  SourceModel& source_;
  std::vector<std::string> skip_;
  std::vector<bool> matched_;
  std::unordered_map<std::string, fx::ModulePtr> scripted_;  // by path
  std::unordered_map<std::string, fx::ModulePtr> traced_;
};

bool Leaves::is_skipped(const std::string& path) {
  bool skipped = false;
  for (size_t i = 0; i < skip_.size(); ++i) {
    if (path.empty() || !glob_match(path, skip_[i])) continue;
    matched_[i] = true;
    skipped = true;
  }
  return skipped;
}

std::optional<ScriptValue> Leaves::call_leaf(Interpreter& interpreter,
                                             const torch::jit::Module& module,
                                             const std::string& path, const std::string& method,
                                             const ScriptValues& args) {
  GraphBuilder& builder = interpreter.builder();
  // A method that a module calls on itself is inlined.
  if (path == builder.scope) return std::nullopt;
  static const std::regex forward("forward(__)?\\d*");  // suffixes mark overloads and further calls
  const bool main_method = std::regex_match(method, forward);
  const fx::Spelling* spelling = module_spelling(module);
  const bool known_leaf = spelling && main_method && !path.empty();
  if (is_skipped(path) && !known_leaf) return call_opaque(builder, module, path, method, args);
  if (!known_leaf) return std::nullopt;
  if (const auto known = scripted_.find(path); known != scripted_.end())
    return call_module(builder, path, *known->second, args);
  const fx::Module& mirror = *source_.root().find(path);
  if (!traced_.contains(path)) {
    if (fx::ModulePtr leaf = leaf_from_constants(module, *spelling, mirror)) {
      source_.root().set_module(path, leaf);
      scripted_.emplace(path, leaf);
      return call_module(builder, path, *leaf, args);
    }
  }
  torch::jit::Function& function = module.get_method(method).function();
  if (auto leaf = leaf_from_graph(*spelling, module, function, args, source_)) {
    // A second call of a module has another method, which must describe the same layer.
    const auto [first, is_new] = traced_.emplace(path, leaf->module);
    if (is_new) source_.root().set_module(path, leaf->module);
    leaf->module = leaf->module->describe() == first->second->describe() ? first->second : nullptr;
    if (leaf->module) return call_traced(builder, *leaf, path, args);
  }
  return std::nullopt;
}

ScriptValue Leaves::call_opaque(GraphBuilder& builder, const torch::jit::Module& module,
                                const std::string& path, const std::string& method,
                                const ScriptValues& args) {
  auto known = std::dynamic_pointer_cast<OpaqueModule>(source_.root().find_module(path));
  if (!known) {
    known = std::make_shared<OpaqueModule>(module, method, *source_.root().find(path));
    source_.root().set_module(path, known);
  }
  SPARSEBIT_CHECK(known->method() == method, Unsupported, "module '", path,
                  "' cannot be skipped: both its '", known->method(), "' and its '", method,
                  "' are called");
  std::vector<Value> values;
  for (const ScriptValue& arg : args) values.push_back(builder.argument(arg));
  return builder.module(path, std::move(values));
}

/// Calls a leaf; trailing arguments that equal their defaults are left out.
ScriptValue Leaves::call_module(GraphBuilder& builder, const std::string& path,
                                const fx::Module& leaf, const ScriptValues& args) {
  std::vector<Value> values;
  for (const ScriptValue& arg : args) values.push_back(builder.argument(arg));
  const std::vector<fx::Parameter>& parameters = leaf.forward_schema().parameters();
  const bool attention = leaf.type() == "torch.nn.MultiheadAttention";
  // The last argument in torch 2 is is_causal, which is only a hint for choosing a kernel.
  if (attention && values.size() > parameters.size()) values.resize(parameters.size());
  const bool no_weights = values.size() > 4 && values[4].is_bool() && !values[4].get<bool>();
  while (!values.empty() && values.size() <= parameters.size()) {
    const auto& standard = parameters[values.size() - 1].default_value;
    if (!standard || !standard->same_as(values.back())) break;
    values.pop_back();
  }
  const Value result = builder.module(path, std::move(values));
  // Without attention weights, the second result is None, and code may test for that.
  if (attention && no_weights)
    return ScriptValue::tuple({builder.getitem(result, 0), ScriptValue()});
  return result;
}

/// A placeholder, or one for each tensor of a tuple.
ScriptValue make_input(const c10::TypePtr& type, const std::string& name,
                       const std::optional<Value>& standard, GraphBuilder& builder) {
  if (const auto tuple = type->cast<c10::TupleType>(); tuple && !standard) {
    ScriptValues items;
    for (const c10::TypePtr& item : tuple->elements())
      items.push_back(make_input(item, c10::str(name, "_", items.size()), {}, builder));
    return ScriptValue::tuple(std::move(items));
  }
  const bool is_container =
      type->kind() == c10::TypeKind::ListType || type->kind() == c10::TypeKind::DictType;
  SPARSEBIT_CHECK(
      !is_container || standard, Unsupported, "the input '", name, "' is a ",
      type->annotation_str(),
      ", and only tensors, numbers and tuples of them can be inputs; wrap the model into "
      "one that takes tensors");
  return Value(builder.graph().placeholder(name, standard));
}

/// Placeholders for the model's inputs; fixed inputs are replaced by their default value.
ScriptValues make_inputs(const torch::jit::Module& model, GraphBuilder& builder,
                         const std::set<std::string>& fixed, const std::vector<std::string>& given,
                         std::vector<const fx::Node*>& fixable) {
  ScriptValues inputs = {ObjectRef{model._ivalue()}};
  const std::vector<c10::Argument>& arguments =
      model.get_method("forward").function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    const auto& standard = arguments[i].default_value();
    const bool is_given = std::find(given.begin(), given.end(), name) != given.end();
    if (fixed.contains(name)) {
      inputs.push_back(from_ivalue(*standard));
      continue;
    }
    std::optional<Value> value;
    if (standard && !is_given) value = to_value(*standard);
    inputs.push_back(make_input(arguments[i].type(), name, value, builder));
    if (value) fixable.push_back(&inputs.back().value().node());
  }
  return inputs;
}

/// A hint for an unknown input name.
std::string input_hint(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = did_you_mean(name, names);
  return near.empty() ? "; the inputs are " + c10::Join(", ", names) : near;
}

void check_given(const torch::jit::Module& model, const std::vector<std::string>& given) {
  std::vector<std::string> names;
  const auto& arguments = model.get_method("forward").function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
  for (const std::string& name : given) {
    SPARSEBIT_CHECK(std::find(names.begin(), names.end(), name) != names.end(), InvalidArgument,
                    "the model has no input '", name, "'", input_hint(name, names));
  }
}

/// The given shapes of inputs that are tensors.
std::map<std::string, fx::TensorInfo> tensor_shapes(const torch::jit::Module& model,
                                                    const TorchScriptOptions& options) {
  std::map<std::string, fx::TensorInfo> shapes;
  const auto& arguments = model.get_method("forward").function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    c10::TypePtr type = arguments[i].type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    auto found = options.shapes.find(arguments[i].name());
    if (found == options.shapes.end() && arguments.size() == 2) found = options.shapes.find("");
    if (found == options.shapes.end() || type->kind() != c10::TypeKind::TensorType) continue;
    shapes.emplace(arguments[i].name(), found->second);
  }
  return shapes;
}

TorchScriptModel build(const torch::jit::Module& model, const TorchScriptOptions& options,
                       const std::set<std::string>& fixed, Budget& budget) {
  SourceModel source(model, budget);
  Leaves leaves(source, options.skip);
  GraphBuilder builder(source);
  ExampleSizes sizes(builder.graph(), source.root(), tensor_shapes(model, options));
  Interpreter interpreter(builder, source, leaves);
  interpreter.sizes = &sizes;
  ScriptValues inputs =
      make_inputs(model, builder, fixed, options.given_inputs, interpreter.fixable_inputs);
  torch::jit::Function& forward = model.get_method("forward").function();
  const ScriptValue result = interpreter.run_function(forward, std::move(inputs));
  const c10::TypePtr type = forward.getSchema().returns().at(0).type();
  std::vector<std::string> names = output_names(result, type, builder.graph());
  builder.graph().output(builder.argument(result));
  TorchScriptModel imported;
  imported.module = std::make_unique<fx::GraphModule>(source.root(), builder.take_graph(),
                                                      last_part(class_name(model)));
  imported.module->set_output_names(std::move(names));
  fx::eliminate_dead_code(*imported.module);
  imported.unmatched_patterns = leaves.unmatched_patterns();
  imported.size_decisions = interpreter.size_decisions;
  return imported;
}

TorchScriptModel import_model(const torch::jit::Module& model, const TorchScriptOptions& options) {
  SPARSEBIT_CHECK(model.find_method("forward"), InvalidModel, "the model (class ",
                  class_name(model), ") has no method 'forward'");
  check_given(model, options.given_inputs);
  // Whether an input decides a branch is found out only while reading the code; the import then
  // restarts with that input fixed.
  std::set<std::string> fixed;
  Budget budget;
  for (;;) {
    try {
      return build(model, options, fixed, budget);
    } catch (const InputDecides& decides) {
      fixed.insert(decides.input);
    }
  }
}

}  // namespace
}  // namespace torchscript

TorchScriptModel import_torchscript(const std::filesystem::path& path,
                                    const TorchScriptOptions& options) {
  const torch::jit::Module model = torchscript::load_archive(path);
  try {
    TorchScriptModel imported;
    torchscript::run_on_large_stack(torchscript::kLargeStack,
                                    [&] { imported = torchscript::import_model(model, options); });
    return imported;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::InvalidArgument) throw;
    throw Error(e.kind(), ErrorDetails{.what = e.details().what, .where = path.string()});
  }
}

}  // namespace sparsebit::frontends
