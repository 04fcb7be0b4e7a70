#include "frontends/pt2/graph_reader.h"

#include "frontends/pt2/defaults.h"
#include "frontends/pt2/tensor_meta.h"
#include "frontends/torchscript/aten.h"
#include "sparsebit/core/error.h"

#include <algorithm>
#include <map>
#include <set>

namespace sparsebit::frontends::pt2 {

using fx::Value;
using Values = std::vector<Value>;

/// The target of a node: `torch.ops.aten.add.Tensor`, `torch.ops.higher_order.cond`,
/// `_operator.mul`.
struct GraphReader::Target {
  explicit Target(std::string text) : full(std::move(text)) {
    constexpr std::string_view ops = "torch.ops.";
    if (!full.starts_with(ops)) return;
    const size_t dot = full.find('.', ops.size());
    if (dot == std::string::npos) return;
    library = full.substr(ops.size(), dot - ops.size());
    const size_t end = full.find('.', dot + 1);
    name = full.substr(dot + 1, end - dot - 1);
    if (end != std::string::npos) overload = full.substr(end + 1);
  }

  std::string full;
  std::string library = {};  ///< empty for functions of Python
  std::string name = {};
  std::string overload = "default";
};

namespace {

/// Python functions on sizes, under their names in the vocabulary.
std::string python_function(const std::string& target) {
  static const std::map<std::string, std::string> others = {{"torch.sym_float", "float"},
                                                            {"torch.sym_int", "int"},
                                                            {"torch.sym_max", "max"},
                                                            {"torch.sym_min", "min"},
                                                            {"torch.sym_not", "operator.not_"},
                                                            {"torch.sym_sum", "sum"},
                                                            {"torch._sym_sqrt", "math.sqrt"},
                                                            {"torch.sym_sqrt", "math.sqrt"},
                                                            {"math.trunc", "int"},
                                                            {"builtins.round", "round"},
                                                            {"builtins.max", "max"},
                                                            {"builtins.min", "min"},
                                                            {"builtins.int", "int"},
                                                            {"builtins.float", "float"},
                                                            {"builtins.bool", "bool"},
                                                            {"builtins.abs", "abs"}};
  if (const auto found = others.find(target); found != others.end()) return found->second;
  return target.starts_with("_operator.") ? target.substr(1) : target;
}

/// Operators that only check an assertion, which torch.export has already done.
bool is_assertion(const std::string& name) {
  return name.starts_with("_assert") || name.starts_with("sym_constrain_range") ||
         name.starts_with("_functional_assert") || name.starts_with("_functional_sym_constrain");
}

/// The TorchScript name of an ATen operator that returns a number.
std::string plain_operator(const std::string& name) {
  static const std::map<std::string, std::string> others = {{"sym_size", "size"},
                                                            {"sym_numel", "numel"},
                                                            {"sym_stride", "stride"},
                                                            {"_local_scalar_dense", "item"}};
  const auto found = others.find(name);
  return found == others.end() ? name : found->second;
}

/// For operators whose further results serve only gradients or unpooling: the operator without
/// them.
const std::string* without_extra_results(const std::string& name) {
  static const std::map<std::string, std::string> others = {
      {"max_pool2d_with_indices", "max_pool2d"},
      {"max_pool3d_with_indices", "max_pool3d"},
      {"max_pool1d_with_indices", "max_pool1d"}};
  const auto found = others.find(name);
  return found == others.end() ? nullptr : &found->second;
}

/// Collects all names in an argument or output of any kind.
void collect_names(const JsonValue& argument, std::vector<std::string>& names) {
  const auto [kind, value] = argument.alternative();
  const auto add = [&](const JsonValue& item) {
    if (const auto name = item.find("name")) names.push_back(name->text());
    if (const auto name = item.find("as_name")) names.push_back(name->text());
  };
  if (kind == "as_tensor" || kind == "as_sym_int" || kind == "as_sym_bool" ||
      kind == "as_sym_float" || kind == "as_custom_obj" || kind == "as_token") {
    add(value);
  } else if (kind == "as_tensors" || kind == "as_sym_ints" || kind == "as_sym_floats" ||
             kind == "as_sym_bools") {
    for (const JsonValue& item : value.items()) add(item);
  } else if (kind == "as_optional_tensors") {
    for (const JsonValue& item : value.items()) collect_names(item, names);
  } else if (kind == "as_optional_tensor") {
    collect_names(value, names);
  } else if (kind == "as_nested_tensors") {
    for (const JsonValue& list : value.items()) {
      for (const JsonValue& item : list.items()) add(item);
    }
  }
}

std::unordered_map<std::string, int64_t> count_uses(const JsonValue& graph) {
  std::vector<std::string> names;
  for (const JsonValue& node : graph["nodes"].items()) {
    for (const JsonValue& input : node["inputs"].items()) collect_names(input["arg"], names);
  }
  for (const JsonValue& output : graph["outputs"].items()) collect_names(output, names);
  std::unordered_map<std::string, int64_t> uses;
  for (const std::string& name : names) ++uses[name];
  return uses;
}

bool has_tensor(const Value& value) {
  if (value.is_tensor() || value.is_node()) return true;
  return value.is_sequence() && std::any_of(value.items().begin(), value.items().end(), has_tensor);
}

/// Numbers of a list of sizes; empty when one is an expression.
std::optional<std::vector<int64_t>> numbers(const JsonValue& sizes) {
  std::vector<int64_t> result;
  for (const JsonValue& size : sizes.items()) {
    const auto [kind, value] = size.alternative();
    if (kind != "as_int") return std::nullopt;
    result.push_back(value.integer());
  }
  return result;
}

/// The input of an as_strided that changes nothing (decomposition leaves such calls behind): along
/// every axis with more than one element the stride stays the same. Otherwise empty.
std::optional<Value> unchanged_by_strides(const JsonValue& node, const JsonValue& graph,
                                          const torchscript::AtenCall& call) {
  if (call.name != "as_strided" || call["size"].contains_node() || call["stride"].contains_node())
    return std::nullopt;
  const auto [kind, input] = node["inputs"].items().at(0)["arg"].alternative();
  if (kind != "as_tensor") return std::nullopt;
  const auto meta = graph["tensor_values"].find(input["name"].text().c_str());
  const auto sizes = meta ? numbers((*meta)["sizes"]) : std::nullopt;
  const auto strides = meta ? numbers((*meta)["strides"]) : std::nullopt;
  const std::vector<int64_t> asked = call["stride"].ints();
  if (!sizes || !strides || call["size"].ints() != *sizes || asked.size() != strides->size())
    return std::nullopt;
  for (size_t i = 0; i < asked.size(); ++i) {
    if ((*sizes)[i] > 1 && asked[i] != (*strides)[i]) return std::nullopt;
  }
  const Value offset = call["storage_offset"];
  if (!offset.is_none() && !offset.same_as(0)) return std::nullopt;
  return call["self"];
}

/// Throws Unsupported for calls that change the model itself, which a graph for inference cannot
/// represent.
void check_mutation(const torchscript::AtenCall& call) {
  const Value training = call["training"];
  const bool statistics = call.name.find("batch_norm") != std::string::npos && training.is_bool() &&
                          training.get<bool>() && !call["running_mean"].is_none();
  SPARSEBIT_CHECK(!statistics, Unsupported,
                  "the program was exported in training mode: its batch norms update their "
                  "statistics; call model.eval() before torch.export.export");
  const bool inplace = call.name.ends_with('_') && !call.name.ends_with("__") &&
                       call.name != "detach_" && call.name != "requires_grad_";
  SPARSEBIT_CHECK(!inplace || call.args.empty() || !call.args[0].value.is_tensor(), Unsupported,
                  "the program changes one of its own buffers or constants (", call.name,
                  "), which is not supported; a model in training mode needs model.eval() before "
                  "torch.export.export");
}

}  // namespace

void GraphReader::read_nodes(const JsonValue& graph, Environment& environment) {
  constexpr int kDeepest = 32;
  SPARSEBIT_CHECK(depth_ < kDeepest, InvalidModel, "its graphs are nested too deeply");
  ++depth_;
  auto outer_uses = std::exchange(uses_, count_uses(graph));
  for (const JsonValue& node : graph["nodes"].items()) {
    try {
      read_node(graph, node, environment);
    } catch (const Error& e) {
      if (error_located_ || builder_.scope.empty()) throw;
      error_located_ = true;
      throw Error(e.kind(), c10::str("module '", builder_.scope, "': ", e.details().what));
    }
  }
  uses_ = std::move(outer_uses);
  --depth_;
}

/// Assigns the nodes that follow to the modules in the node's metadata.
void GraphReader::enter(const JsonValue& node) {
  const auto metadata = node.find("metadata");
  const auto text = metadata ? metadata->find("nn_module_stack") : std::nullopt;
  const std::vector<ModuleCall> stack =
      text ? parse_module_stack(text->text()) : std::vector<ModuleCall>();
  builder_.scope = stack.empty() ? "" : stack.back().path;
  layer_ = layer_in(stack);
}

void GraphReader::read_node(const JsonValue& graph, const JsonValue& node,
                            Environment& environment) {
  enter(node);
  const Target target(node["target"].text());
  if (target.library == "aten" && is_assertion(target.name)) return;
  const size_t before = builder_.graph().size();
  const Values results = write(graph, node, target, environment);
  if (target.library != "higher_order") note_layer(before);
  assign(graph, node, results, environment);
}

Values GraphReader::write(const JsonValue& graph, const JsonValue& node, const Target& target,
                          const Environment& environment) {
  if (target.library == "higher_order") return higher_order(node, target.name, environment);
  if (!target.library.empty()) return write_operator(graph, node, target, environment);
  Values args;
  for (const JsonValue& input : node["inputs"].items())
    args.push_back(read_argument(input["arg"], environment));
  if (target.full == "_operator.pos" && args.size() == 1) return args;
  if (target.full == "torch.sym_sum" && args.size() != 1) args = {fx::List(std::move(args))};
  return {builder_.function(python_function(target.full), std::move(args))};
}

Values GraphReader::write_operator(const JsonValue& graph, const JsonValue& node,
                                   const Target& target, const Environment& environment) {
  torchscript::AtenCall call{.name = plain_operator(target.name), .args = {}};
  call.library = target.library;
  call.has_tensors = false;
  for (const JsonValue& input : node["inputs"].items()) {
    Value value = read_argument(input["arg"], environment);
    call.has_tensors |= has_tensor(value);
    call.args.push_back({input["name"].text(), std::move(value)});
  }
  const std::vector<JsonValue> outputs = node["outputs"].items();
  call.outputs = std::max<size_t>(outputs.size(), 1);
  std::vector<std::string> names;
  for (const JsonValue& output : outputs) {
    call.has_tensors |= output.alternative().first.starts_with("as_tensor");
    collect_names(output, names);
  }
  const bool first_only = std::none_of(names.begin() + (names.empty() ? 0 : 1), names.end(),
                                       [&](const std::string& name) { return uses_[name] > 0; });
  if (const std::string* plain = without_extra_results(call.name); plain && first_only) {
    call.name = *plain;
    call.outputs = 1;
  }
  check_mutation(call);
  if (call.name == target.name) add_defaults(call, target.overload);
  // Our operators may give another memory layout, with which a view can need a copy.
  if (call.library == "aten" && call.name == "view" && call.has("size")) call.name = "reshape";
  if (const auto same = unchanged_by_strides(node, graph, call)) return {*same};
  Values results;
  for (const torchscript::ScriptValue& result : torchscript::write_call(builder_, call))
    results.push_back(builder_.argument(result));
  return results;
}

/// The results of a graph that is the argument `graph_index`; arguments after it are its inputs.
Values GraphReader::inline_graph(const JsonValue& node, size_t graph_index,
                                 const Environment& environment) {
  const std::vector<JsonValue> inputs = node["inputs"].items();
  const auto [kind, argument] = inputs.at(graph_index)["arg"].alternative();
  if (kind != "as_graph") argument.fail("is not a graph");
  const JsonValue graph = argument["graph"];
  const std::vector<JsonValue> parameters = graph["inputs"].items();
  Values given;
  for (size_t i = graph_index + 1; i < inputs.size(); ++i) {
    if (inputs[i]["arg"].alternative().first == "as_graph") continue;  // the other branch
    const Value value = read_argument(inputs[i]["arg"], environment);
    const bool operands = value.is_sequence() && parameters.size() != inputs.size() - i;
    if (operands)
      given.insert(given.end(), value.items().begin(), value.items().end());
    else
      given.push_back(value);
  }
  if (given.size() != parameters.size()) {
    graph.fail(c10::str("has ", parameters.size(), " inputs, but is given ", given.size()));
  }
  Environment inner;
  for (size_t i = 0; i < given.size(); ++i) {
    std::vector<std::string> names;
    collect_names(parameters[i], names);
    for (const std::string& name : names) inner[name] = given[i];
  }
  read_nodes(graph, inner);
  Values results;
  for (const JsonValue& output : graph["outputs"].items())
    results.push_back(read_argument(output, inner));
  return results;
}

Values GraphReader::higher_order(const JsonValue& node, const std::string& name,
                                 const Environment& environment) {
  const std::vector<JsonValue> inputs = node["inputs"].items();
  const auto argument = [&](size_t index) {
    if (index >= inputs.size()) node.fail("has too few arguments");
    return read_argument(inputs[index]["arg"], environment);
  };
  const auto graph_at = [&](size_t index) {
    if (index >= inputs.size()) node.fail("has too few arguments");
    return inline_graph(node, index, environment);
  };
  if (name == "wrap_with_set_grad_enabled") return graph_at(1);
  if (name == "wrap_with_autocast") {
    const Value enabled = argument(2);
    SPARSEBIT_CHECK(enabled.is_bool() && !enabled.get<bool>(), Unsupported,
                    "a part of the program runs under autocast, which is not supported; convert "
                    "the model to one type before torch.export.export");
    return graph_at(4);
  }
  if (name == "cond") {
    const Value condition = argument(0);
    SPARSEBIT_CHECK(condition.is_bool(), Unsupported,
                    "the condition of torch.cond depends on data, which is known only when the "
                    "model runs; only constant conditions are supported");
    return graph_at(condition.get<bool>() ? 1 : 2);
  }
  throw Error(ErrorKind::Unsupported, "the higher-order operator '" + name +
                                          "' is not supported; export the model without it, or "
                                          "to ONNX");
}

void GraphReader::assign_one(const JsonValue& graph, const JsonValue& name, const Value& value,
                             Environment& environment) {
  const std::string text = name.text();
  if (value.is_node() && !value.node().tensor_info()) {
    if (const auto meta = graph["tensor_values"].find(text.c_str()))
      value.node().set_tensor_info(tensor_info(*meta));
  }
  environment[text] = value;
}

void GraphReader::assign(const JsonValue& graph, const JsonValue& node, const Values& results,
                         Environment& environment) {
  const std::vector<JsonValue> outputs = node["outputs"].items();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto [kind, output] = outputs[i].alternative();
    if (kind == "as_none") continue;
    const Value value = i < results.size() ? results[i] : Value();
    if (kind == "as_tensors") {
      const std::vector<JsonValue> items = output.items();
      for (size_t k = 0; k < items.size(); ++k) {
        const bool known = value.is_sequence() && k < value.items().size();
        // The results of an inlined graph may belong to a single output that is a list.
        const Value item = known ? value.items()[k]
                           : outputs.size() == 1 && results.size() > 1
                               ? results.at(k)
                               : builder_.getitem(value, static_cast<int64_t>(k));
        assign_one(graph, items[k]["name"], item, environment);
      }
    } else if (const auto name = output.find("name")) {
      assign_one(graph, *name, value, environment);
    } else if (const auto symbol = output.find("as_name")) {
      environment[symbol->text()] = value;
    }
  }
}

/// Records the nodes that were added for the current node of the file as part of its layer.
void GraphReader::note_layer(size_t nodes_before) {
  if (!layer_) return;
  std::vector<fx::Node*> added;
  auto& nodes = builder_.graph().nodes();
  auto position = nodes.end();
  for (size_t i = nodes_before; i < nodes.size(); ++i) added.push_back(&*--position);
  std::for_each(added.rbegin(), added.rend(),
                [&](fx::Node* node) { layer_nodes_.emplace_back(node, *layer_); });
}

}  // namespace sparsebit::frontends::pt2
