#include "export/exporter.h"

#include "export/carried.h"
#include "export/quantization.h"

#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <set>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Opcode;
using fx::Value;

/// The values that a model returns, tuples and dicts flattened, without None.
void returned_values(const Value& value, std::vector<Value>& leaves) {
  if (value.is_sequence()) {
    for (const Value& item : value.items()) returned_values(item, leaves);
  } else if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) returned_values(item, leaves);
  } else if (!value.is_none()) {
    leaves.push_back(value);
  }
}

const std::set<std::string, std::less<>>& random_operators() {
  static const std::set<std::string, std::less<>> names = {"rand", "randn", "rand_like",
                                                           "randn_like", "bernoulli"};
  return names;
}

/// Larger constants of one value (zeros, ones, full, ...) are computed in the graph instead of
/// stored.
constexpr int64_t kLargestStoredFill = 1024;

bool is_large_fill(const std::string& op, const Value& value) {
  static const std::set<std::string, std::less<>> fills = {"zeros",      "ones",      "full",
                                                           "new_zeros",  "new_ones",  "new_full",
                                                           "zeros_like", "ones_like", "full_like"};
  return fills.contains(op) && value.is_tensor() && value.tensor().numel() > kLargestStoredFill;
}

Value copy_tensors(const Value& value) {
  if (value.is_tensor()) return value.tensor().clone();
  if (!value.is_sequence()) return value;
  std::vector<Value> items;
  for (const Value& item : value.items()) items.push_back(copy_tensors(item));
  return value.is<fx::List>() ? Value(fx::List(std::move(items)))
                              : Value(fx::Tuple(std::move(items)));
}

void for_each_tensor(const Value& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.is_tensor()) visit(value.tensor());
  if (!value.is_sequence()) return;
  for (const Value& item : value.items()) for_each_tensor(item, visit);
}

}  // namespace

Exporter::Exporter(const fx::GraphModule& module, const OnnxExportOptions& options)
    : module_(module),
      options_(options),
      facts_(find_shapes(module, options)),
      writer_(options.opset),
      regions_(module, *options.quantized.platform) {
  index_model();
  name_values();
}

/// Paths of the model's tensors, and how many nodes use each.
void Exporter::index_model() {
  for (const auto& item : module_.state_dict())
    tensor_paths_.emplace(item.value().unsafeGetTensorImpl(), item.key());
  std::unordered_set<std::string> modules;
  size_t position = 0;
  for (const Node& node : module_.graph().nodes()) {
    position_.emplace(&node, position++);
    const auto count = [&](const at::Tensor& t) { ++tensor_uses_[t.unsafeGetTensorImpl()]; };
    if (node.op() == Opcode::GetAttr) {
      if (const at::Tensor* tensor = module_.find_tensor(node.target())) count(*tensor);
    } else if (node.op() == Opcode::CallModule && modules.insert(node.target()).second) {
      const fx::Module* child = module_.find(node.target());
      SPARSEBIT_CHECK(child, InvalidModel, "node '", node.name(), "': there is no module '",
                      node.target(), "'");
      for (const auto& item : child->state_dict()) count(item.value());
    }
  }
}

/// Names every value after its node, unless an input or output of the model has that name.
void Exporter::name_values() {
  for (const InputSpec& input : facts_.inputs) writer_.reserve(input.node->target());
  output_names_ = options_.output_names.empty() ? module_.output_names() : options_.output_names;
  for (const std::string& name : output_names_) writer_.reserve(name);
  for (const Node& node : module_.graph().nodes()) {
    if (!is_carried(node)) continue;
    for (const std::string& name : names_inside(node)) writer_.reserve(name);
  }
  const Node* output = module_.graph().output_node();
  SPARSEBIT_CHECK(output && !output->args().empty(), InvalidModel, "the graph returns nothing");
  std::vector<Value> results;
  returned_values(output->args()[0], results);
  for (size_t i = 0; i < std::min(results.size(), output_names_.size()); ++i) {
    if (!results[i].is_node()) continue;
    const Node& node = results[i].node();
    const bool rewritten =
        std::any_of(node.users().begin(), node.users().end(),
                    [&](const Node* n) { return fx::mutates_input(*n, module_); });
    if (!rewritten) value_names_.emplace(&node, output_names_[i]);
  }
  for (const Node& node : module_.graph().nodes()) {
    if (!value_names_.contains(&node) && node.op() != Opcode::Placeholder)
      value_names_.emplace(&node, writer_.unique_name(node.name()));
  }
}

NodeResult Exporter::value_of(const Node& node) {
  const auto it = values_.find(&node);
  SPARSEBIT_CHECK(it != values_.end(), InvalidModel, "node '", node.name(),
                  "' is used before it is computed");
  return it->second;
}

std::string Exporter::path_of(const at::Tensor& tensor) const {
  const auto it = tensor_paths_.find(tensor.unsafeGetTensorImpl());
  return it == tensor_paths_.end() ? "" : it->second;
}

bool Exporter::used_once(const at::Tensor& tensor) const {
  const auto it = tensor_uses_.find(tensor.unsafeGetTensorImpl());
  return it == tensor_uses_.end() || it->second <= 1;
}

NodeResult Exporter::read_attribute(const Node& node) {
  if (const at::Tensor* tensor = module_.find_tensor(node.target())) {
    if (!tensor->defined()) return Value(fx::None());
    return writer_.constant(*tensor, path_of(*tensor));
  }
  const Value* attribute = module_.find_attribute(node.target());
  SPARSEBIT_CHECK(attribute, InvalidModel, "node '", node.name(),
                  "': there is no parameter, buffer or attribute '", node.target(), "'");
  return *attribute;
}

/// Constant folding: computes nodes whose arguments are all known. Parameters are not folded.
std::optional<NodeResult> Exporter::fold(const Node& node, const fx::OperatorCall& call) {
  if (node.op() == Opcode::CallModule || random_operators().contains(call.op->name))
    return std::nullopt;
  const Call known(node, call.args, writer_, *this);
  const fx::Args given = in_eval_mode(known.args());
  bool plain = true;
  std::vector<Value> values;
  for (const Value& value : given.values()) {
    plain &= !value.contains_node();
    for_each_tensor(value, [&](const at::Tensor& t) { plain &= path_of(t).empty(); });
    if (plain) values.push_back(copy_tensors(value));
  }
  if (!plain) return std::nullopt;
  Value result = fx::run_kernel(*call.op, fx::Args(call.op->schema, values));
  if (is_large_fill(call.op->name, result)) return std::nullopt;
  if (call.op->effect == fx::Effect::WritesInput) return NodeResult(values[0]);  // the new content
  return NodeResult(std::move(result));
}

NodeResult Exporter::convert_call(const Node& node, const fx::OperatorCall& call) {
  if (call.op->effect == fx::Effect::Checks) return Value(fx::None());  // ONNX has no assertions
  if (std::optional<NodeResult> folded = fold(node, call)) return std::move(*folded);
  const Converter* converter = converters().find(call.op->name);
  if (!converter && call.op->name.starts_with("onnx.")) return write_onnx_operator(node, call);
  if (!converter) {
    const auto& reasons = operators_without_onnx_form();
    const auto reason = reasons.find(call.op->name);
    throw Error(ErrorKind::Unsupported,
                c10::str("node '", node.name(), "': operator '", call.op->name,
                         "' cannot be written as ONNX",
                         reason == reasons.end() ? "" : ": " + reason->second));
  }
  Call view(node, call.args, writer_, *this);
  return (*converter)(view);
}

NodeResult Exporter::convert(const Node& node) {
  if (node.op() == Opcode::GetAttr) return read_attribute(node);
  if (is_carried(node)) {
    NodeResult result = carry_through(node);
    name_result(node, result);
    return result;
  }
  if (const quant::Quantizer* quantizer = quant::find_quantizer(module_, node))
    return write_quantizer(node, *quantizer);
  if (const std::optional<fx::OperatorCall> call = fx::resolve(node, module_)) {
    if (!writes_fake_quantize() && regions_.is_clipped_by_rounding(node, *call))
      return value_of(*node.inputs().front());
    const bool in_place = fx::mutates_input(node, module_);
    NodeResult result = convert_call(node, *call);
    if (in_place) keep_type(node, *call, result);
    name_result(node, result);
    if (!in_place) return result;
    store_change(node, *call, std::move(result));
    return values_.at(&node);
  }
  const fx::Module* module =
      node.op() == Opcode::CallModule ? module_.find(node.target()) : nullptr;
  throw Error(ErrorKind::Unsupported,
              c10::str("node '", node.name(), "': ",
                       module ? "module '" + node.target() + "' of type '" + module->type() + "'"
                              : std::string(to_string(node.op())) + " '" + node.target() + "'",
                       " is unknown, so it has no ONNX form; ",
                       module ? "trace into it or replace it with known operators"
                              : "replace it with known operators"));
}

void Exporter::write_node(const Node& node) {
  writer_.begin(node.name());
  NodeResult value = with_context(
      [&] {
        const c10::InferenceMode inference;
        return convert(node);
      },
      [&] {
        return c10::str("while writing node '", node.name(), "' (", node.target(), ") as ONNX");
      });
  values_[&node] = std::move(value);
}

void Exporter::name_result(const Node& node, NodeResult& result) {
  const std::string& name = value_names_.at(&node);
  if (result.is_tensor() || result.is_number()) {
    OnnxTensor& sym = result.cell->sym;
    if (writer_.rename(sym, name)) writer_.name_producer(sym, node.name());
  } else if (result.is_sequence()) {
    name_items(node, result);
  }
  if (const Fact* fact = facts_.find(node)) apply_fact(*fact, result, node);
}

/// Items are called node.0, node.1, ...; a value that occurs several times keeps one name.
void Exporter::name_items(const Node& node, NodeResult& result) {
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < result.items.size(); ++i) {
    NodeResult& item = result.items[i];
    if (!item.is_tensor()) continue;
    OnnxTensor& sym = item.cell->sym;
    const std::string before = sym.name;
    if (const auto it = renamed.find(before); it != renamed.end()) {
      sym.name = it->second;
    } else {
      if (renamed.empty()) writer_.name_producer(sym, node.name());
      if (writer_.rename(sym, writer_.unique_name(c10::str(node.name(), ".", i))))
        renamed.emplace(before, sym.name);
    }
  }
}

void Exporter::apply_fact(const Fact& fact, NodeResult& value, const Node& node) {
  if (value.is_sequence()) {
    for (size_t i = 0; i < std::min(fact.items.size(), value.items.size()); ++i)
      apply_fact(fact.items[i], value.items[i], node);
  }
  if (!value.is_tensor() || !fact.tensor) return;
  OnnxTensor& sym = value.cell->sym;
  if (sym.dtype == at::ScalarType::Undefined) sym.dtype = fact.tensor->dtype;
  SPARSEBIT_CHECK(sym.dtype == fact.tensor->dtype, Internal, "node '", node.name(), "' gives ",
                  fx::dtype_name(fact.tensor->dtype), ", its ONNX form gives ",
                  fx::dtype_name(sym.dtype));
  Shape shape = fact.tensor->shape;
  if (sym.shape) {
    SPARSEBIT_CHECK(sym.shape->size() == shape.size(), Internal, "node '", node.name(),
                    "' has rank ", shape.size(), ", its ONNX form has rank ", sym.shape->size());
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) shape[i] = (*sym.shape)[i];
    }
  }
  sym.shape = std::move(shape);
}

std::map<std::string, std::string> Exporter::tensor_names() const {
  std::map<std::string, std::string> names;
  for (const auto& [node, result] : values_) {
    if (result.is_tensor()) names.emplace(node->name(), writer_.current_name(result.sym().name));
  }
  return names;
}

void Exporter::write(onnx::GraphProto& graph) {
  graph.set_name(module_.type());
  write_inputs(graph);
  for (const Node& node : module_.graph().nodes()) {
    if (node.op() == Opcode::Placeholder) continue;
    if (node.op() == Opcode::Output) break;
    write_node(node);
  }
  std::vector<Result> results;
  collect_results(module_.graph().output_node()->args()[0], results);
  SPARSEBIT_CHECK(output_names_.empty() || output_names_.size() == results.size(), InvalidArgument,
                  "the model has ", results.size(), " results, got ", output_names_.size(),
                  " output names");
  std::vector<std::string> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!output_names_.empty()) results[i].wish = output_names_[i];
    outputs.push_back(write_output(graph, results[i]));
  }
  writer_.finish(graph, outputs);
}

}  // namespace sparsebit::exports
