// Queries of the environment, answered as for a model on the CPU with gradients enabled and without
// any special mode (autocast, scripting). The answers select the general path through the code,
// which is always valid, instead of the fast paths that torch takes without gradients.

#include "frontends/torchscript/interpreter.h"
#include "sparsebit/fx/resolve.h"

#include <algorithm>
#include <map>
#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

std::optional<Value> answer_about_environment(const std::string& name) {
  static const std::map<std::string, bool> all = {
      {"is_grad_enabled", true},
      {"is_autocast_enabled", false},
      {"is_autocast_cpu_enabled", false},
      {"_get_tracing_state", false},
      {"is_tracing", false},
      {"_is_tracing", false},
      {"is_scripting", true},
  };
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(Value(found->second));
}

/// Answers queries about a tensor that is known only when the model runs.
std::optional<Value> answer_about_tensor(const std::string& name, const ScriptValues& in) {
  static const std::map<std::string, bool> all = {
      {"requires_grad", true}, {"is_cpu", true},    {"is_cuda", false}, {"is_xpu", false},
      {"is_ipu", false},       {"is_mps", false},   {"is_ort", false},  {"is_vulkan", false},
      {"is_meta", false},      {"is_mkldnn", false}};
  if (in.size() != 1 || !in[0].is_node()) return std::nullopt;
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(Value(found->second));
}

bool is_dtype(const ScriptValue& datum) {
  if (!datum.is_node() || datum.value().node().target() != "getattr") return false;
  const Value& name = datum.value().node().args().at(1);
  return name.is_string() && name.string() == "dtype";
}

/// `x.dtype == torch.half`: TorchScript writes element types as ints, a graph does not.
std::optional<Value> compare_dtypes(GraphBuilder& builder, const std::string& name,
                                    const ScriptValues& in) {
  if ((name != "eq" && name != "ne") || in.size() != 2) return std::nullopt;
  if (!is_dtype(in[0]) && !is_dtype(in[1])) return std::nullopt;
  const auto element_type = [](const ScriptValue& datum) {
    constexpr auto kTypes = static_cast<int64_t>(at::ScalarType::NumOptions);
    const Value& value = datum.value();
    const bool number = value.is_int() && value.to_int() >= 0 && value.to_int() < kTypes;
    return number ? Value(static_cast<at::ScalarType>(value.to_int())) : value;
  };
  if (!in[0].is_value() || !in[1].is_value()) return std::nullopt;
  return builder.function("operator." + name, {element_type(in[0]), element_type(in[1])});
}

/// Whether the result is the same object as the first argument.
bool returns_its_input(const fx::Node& node) {
  const std::string& target = node.target();
  return node.op() == fx::Opcode::CallMethod && target.ends_with('_') && !target.ends_with("__");
}

/// Whether the result may be the same object as the first argument: a call without effect often
/// returns its input.
bool may_return_its_input(const fx::Node& node, const fx::Module& root) {
  static const std::set<std::string> names = {
      "alpha_dropout", "broadcast_to", "contiguous", "dropout",   "dropout1d",
      "dropout2d",     "dropout3d",    "expand",     "expand_as", "feature_alpha_dropout",
      "flatten",       "identity",     "reshape",    "to",        "type"};
  if (node.op() == fx::Opcode::Placeholder || node.op() == fx::Opcode::GetAttr) return false;
  const fx::Spelling* spelling = fx::find_spelling(node, root);
  return !spelling || names.contains(spelling->op->name) || fx::mutates_input(node, root);
}

template <class Passes>
const fx::Node* origin(const fx::Node& node, Passes passes) {
  const fx::Node* last = &node;
  while (passes(*last) && !last->args().empty() && last->args()[0].is_node())
    last = &last->args()[0].node();
  return last;
}

/// Whether two tensors are the same object; empty when that is known only when the model runs. Two
/// inputs of the model count as different objects.
std::optional<bool> are_one(Interpreter& interpreter, const ScriptValue& first,
                            const ScriptValue& second) {
  const auto is_tensor = [](const ScriptValue& datum) {
    return datum.is_node() || datum.is_tensor();
  };
  if (!is_tensor(first) || !is_tensor(second)) return std::nullopt;
  GraphBuilder& builder = interpreter.builder();
  const Value a = builder.argument(first.value()), b = builder.argument(second.value());
  if (origin(a.node(), returns_its_input) == origin(b.node(), returns_its_input)) return true;
  const fx::Module& root = interpreter.source().root();
  const auto may = [&](const fx::Node& node) { return may_return_its_input(node, root); };
  if (origin(a.node(), may) == origin(b.node(), may)) return std::nullopt;
  return false;
}

bool asks_about_tensors(const jit::Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const jit::Value* input) {
    return input->type()->isSubtypeOf(*c10::OptionalType::ofTensor());
  });
}

}  // namespace

std::optional<ScriptValues> answer_question(Interpreter& interpreter, const jit::Node& node,
                                            const ScriptValues& in) {
  const std::string name = node.kind().toUnqualString();
  if (auto answer = answer_about_environment(name)) return ScriptValues{*answer};
  if (auto answer = answer_about_tensor(name, in)) return ScriptValues{*answer};
  if (auto answer = compare_dtypes(interpreter.builder(), name, in)) return ScriptValues{*answer};
  if ((name != "__is__" && name != "__isnot__") || !asks_about_tensors(node)) return std::nullopt;
  const std::optional<bool> one = are_one(interpreter, in[0], in[1]);
  return one ? std::optional(ScriptValues{Value(*one == (name == "__is__"))}) : std::nullopt;
}

ScriptValues on_cpu(const jit::Node& node, ScriptValues in) {
  for (size_t i = 0; i < in.size(); ++i) {
    const bool device = node.inputs()[i]->type()->kind() == c10::TypeKind::DeviceObjType;
    if (device && in[i].is_node()) in[i] = Value(at::Device(at::kCPU));
  }
  return in;
}

}  // namespace sparsebit::frontends::torchscript
