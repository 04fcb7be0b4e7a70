// ATen operators in the spelling of the operator table, bound by argument name.

#include "frontends/torchscript/aten.h"

#include "frontends/torchscript/interpreter.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/operator.h"

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <map>
#include <regex>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

struct BoundCall {
  std::vector<Value> args;
  fx::Kwargs kwargs;
};

/// An argument of a TorchScript call with what says whether it may be left out.
struct Given {
  std::string name;
  Value value;
  bool is_default;
};

/// TorchScript writes these as ints.
Value named_constant(const std::string& argument, const Value& value) {
  if (!value.is_int()) return value;
  if (argument == "dtype") return static_cast<at::ScalarType>(value.get<int64_t>());
  if (argument != "memory_format") return value;
  switch (static_cast<at::MemoryFormat>(value.get<int64_t>())) {
    case at::MemoryFormat::ChannelsLast:
      return "torch.channels_last";
    case at::MemoryFormat::ChannelsLast3d:
      return "torch.channels_last_3d";
    case at::MemoryFormat::Preserve:
      return "torch.preserve_format";
    default:
      return {};  // contiguous is what the operators do by default
  }
}

std::vector<Given> read_arguments(GraphBuilder& builder, const c10::FunctionSchema& schema,
                                  const ScriptValues& in) {
  std::vector<Given> given;
  for (size_t i = 0; i < in.size() && i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    bool is_default = false;
    if (argument.default_value() && in[i].is_known() && !in[i].is<ObjectRef>()) {
      const ScriptValue expected = from_ivalue(*argument.default_value());
      is_default =
          expected.is_value() && in[i].is_value() && expected.value().same_as(in[i].value());
    }
    given.push_back(
        {argument.name(), named_constant(argument.name(), builder.argument(in[i])), is_default});
  }
  if (!schema.is_vararg()) return given;
  for (size_t i = given.size(); i < in.size(); ++i)
    given.push_back({"", builder.argument(in[i]), false});
  return given;
}

/// Names that ATen and the vocabulary spell differently, tried in order after the name itself.
std::vector<std::string> names_for(const std::string& aten) {
  static const std::map<std::string, std::vector<std::string>> other = {
      {"self", {"input"}},
      {"train", {"training"}},
      {"size", {"shape"}},
      {"pad", {"padding"}},
      {"indices", {"input"}},
      {"split_size", {"split_size_or_sections"}},
      {"split_sizes", {"split_size_or_sections"}},
      {"indices_or_sections", {"split_size_or_sections"}},
      {"sizes", {"unflattened_size"}},
      {"lambda", {"lambd"}},
      {"upper", {"other"}},
      {"ord", {"p"}},
      {"tensors", {"operands"}},
      {"value", {"src", "values"}},
  };
  std::vector<std::string> names = {aten, "_" + aten};
  if (const auto found = other.find(aten); found != other.end())
    names.insert(names.end(), found->second.begin(), found->second.end());
  return names;
}

/// Arguments that only say where or how a result is computed.
bool is_technical(const std::string& name) {
  static const std::vector<std::string> technical = {
      "generator", "layout",        "pin_memory",    "non_blocking", "implicit",
      "path",      "cudnn_enabled", "half_to_float", "copy",         "memory_format"};
  return name.starts_with('_') ||
         std::find(technical.begin(), technical.end(), name) != technical.end();
}

const fx::Schema& schema_of(const fx::Spelling& spelling) {
  return spelling.form->arguments.empty() ? spelling.op->schema : spelling.form->arguments;
}

/// The slots of the spelling's own arguments; nothing when one of the given has no place.
std::optional<std::vector<std::optional<Value>>> assign(const fx::Spelling& spelling,
                                                        const std::vector<Given>& given) {
  const std::vector<fx::Parameter>& parameters = schema_of(spelling).parameters();
  std::vector<std::optional<Value>> slots(parameters.size());
  for (const Given& argument : given) {
    auto place = parameters.end();
    for (const std::string& name : names_for(argument.name)) {
      place = std::find_if(parameters.begin(), parameters.end(),
                           [&](const fx::Parameter& p) { return p.answers_to(name); });
      if (place != parameters.end() && !slots[place - parameters.begin()]) break;
      place = parameters.end();
    }
    if (place != parameters.end())
      slots[place - parameters.begin()] = argument.value;
    else if (!argument.is_default && !argument.value.is_none() && !is_technical(argument.name))
      return std::nullopt;
  }
  return slots;
}

std::optional<BoundCall> bind(const fx::Spelling& spelling, const std::vector<Given>& given) {
  const auto slots = assign(spelling, given);
  if (!slots) return std::nullopt;
  const std::vector<fx::Parameter>& parameters = schema_of(spelling).parameters();
  BoundCall call;
  bool positional = true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const fx::Parameter& p = parameters[i];
    const std::optional<Value>& value = (*slots)[i];
    if (!value && !p.default_value) return std::nullopt;
    if (p.keyword_only) positional = false;
    if (!value || (p.default_value && p.default_value->same_as(*value))) {
      positional = false;
    } else if (positional && p.variadic && value->is_sequence() && !value->items().empty()) {
      call.args.insert(call.args.end(), value->items().begin(), value->items().end());
      positional = false;
    } else if (positional) {
      call.args.push_back(*value);
    } else {
      call.kwargs.emplace_back(p.name, *value);
    }
  }
  return call;
}

std::optional<Value> write_spelling(GraphBuilder& builder, const std::string& spelled,
                                    const std::vector<Given>& given, fx::Kwargs more = {}) {
  const fx::Spelling* spelling = fx::operators().find(spelled);
  if (!spelling || !spelling->form) return std::nullopt;
  auto call = bind(*spelling, given);
  if (!call) return std::nullopt;
  call->kwargs.insert(call->kwargs.end(), more.begin(), more.end());
  constexpr std::string_view method = "Tensor.";
  if (spelled.starts_with(method))
    return builder.method(spelled.substr(method.size()), call->args, call->kwargs);
  return builder.function(spelled, call->args, call->kwargs);
}

std::optional<Value> write_tensor_operator(GraphBuilder& builder, const std::string& name,
                                           const std::vector<Given>& given) {
  const bool inplace = name.ends_with('_') && !name.ends_with("__");
  std::vector<std::string> spellings;
  if (inplace)
    spellings = {"Tensor." + name, "torch." + name, "torch.nn.functional." + name};
  else if (name.starts_with("linalg_"))
    spellings = {"torch.linalg." + name.substr(7)};
  else if (name.starts_with("special_"))
    spellings = {"torch.special." + name.substr(8), "torch." + name.substr(8)};
  else
    spellings = {"torch." + name, "Tensor." + name, "torch.nn.functional." + name};
  for (const std::string& spelled : spellings) {
    if (auto result = write_spelling(builder, spelled, given)) return result;
  }
  if (!inplace) return std::nullopt;
  const std::string base = "torch.nn.functional." + name.substr(0, name.size() - 1);
  const fx::Spelling* spelling = fx::operators().find(base);
  if (!spelling || !spelling->form || !schema_of(*spelling).find("inplace")) return std::nullopt;
  return write_spelling(builder, base, given, {{"inplace", true}});
}

/// Python's operators and functions on numbers, strings and lists.
const std::string* python_spelling(const std::string& name) {
  static const std::map<std::string, std::string> all = {
      {"add", "operator.add"},
      {"sub", "operator.sub"},
      {"mul", "operator.mul"},
      {"div", "operator.truediv"},
      {"floordiv", "operator.floordiv"},
      {"remainder", "operator.mod"},
      {"neg", "operator.neg"},
      {"pow", "operator.pow"},
      {"eq", "operator.eq"},
      {"ne", "operator.ne"},
      {"lt", "operator.lt"},
      {"le", "operator.le"},
      {"gt", "operator.gt"},
      {"ge", "operator.ge"},
      {"__and__", "operator.and_"},
      {"__or__", "operator.or_"},
      {"__xor__", "operator.xor"},
      {"__not__", "operator.not_"},
      {"__iand__", "operator.iand"},
      {"__ior__", "operator.ior"},
      {"__ixor__", "operator.ixor"},
      {"__lshift__", "operator.lshift"},
      {"__rshift__", "operator.rshift"},
      {"__is__", "operator.is_"},
      {"__isnot__", "operator.is_not"},
      {"__contains__", "operator.contains"},
      {"__getitem__", "operator.getitem"},
      {"len", "len"},
      {"Int", "int"},
      {"IntImplicit", "int"},
      {"Float", "float"},
      {"FloatImplicit", "float"},
      {"Bool", "bool"},
      {"abs", "abs"},
      {"min", "min"},
      {"max", "max"},
      {"sqrt", "math.sqrt"},
      {"ceil", "math.ceil"},
      {"floor", "math.floor"},
      {"exp", "math.exp"},
      {"log", "math.log"},
      {"sin", "math.sin"},
      {"cos", "math.cos"},
      {"tanh", "math.tanh"},
      {"round", "round"},
      {"list", "list"},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

bool takes_tensor(const jit::Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const jit::Value* input) {
    c10::TypePtr type = input->type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (const auto list = type->cast<c10::ListType>()) type = list->getElementType();
    return type->kind() == c10::TypeKind::TensorType;
  });
}

Value write_generic(GraphBuilder& builder, const jit::Node& node, const std::string& name,
                    const std::vector<Given>& given) {
  const bool makes_tensor =
      !node.outputs().empty() && node.outputs()[0]->type()->kind() == c10::TypeKind::TensorType;
  if (!is_foreign(node) && (takes_tensor(node) || makes_tensor)) {
    if (auto result = write_tensor_operator(builder, name, given)) return *result;
  }
  std::vector<Value> args;
  for (const Given& argument : given) args.push_back(argument.value);
  const std::string* python = is_foreign(node) ? nullptr : python_spelling(name);
  if (python) return builder.function(*python, args);
  // Not in the vocabulary: kept as it is, so that the model can be looked at; it cannot run.
  std::string target = std::string("torch.ops.") + node.kind().ns().toUnqualString() + "." + name;
  return builder.function(std::move(target), std::move(args));
}

}  // namespace

bool is_foreign(const jit::Node& node) {
  const std::string space = node.kind().ns().toUnqualString();
  return space != "aten" && space != "prim";
}

const Value* AtenCall::find(std::string_view argument) const {
  for (const auto& [name, value] : args) {
    if (name == argument) return &value;
  }
  return nullptr;
}

Value AtenCall::operator[](std::string_view argument) const {
  const Value* found = find(argument);
  return found ? *found : Value();
}

ScriptValues write_operator(GraphBuilder& builder, jit::Node& node, const ScriptValues& in) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  SPARSEBIT_CHECK(schema, Unsupported, "operation ", node.kind().toQualString(),
                  " is not supported");
  const std::vector<Given> given = read_arguments(builder, *schema, in);
  AtenCall call{node.kind().toUnqualString(), {}, node.outputs().size()};
  constexpr std::string_view unsafe = "unsafe_";  // views without the checks of autograd
  if (call.name.starts_with(unsafe)) call.name.erase(0, unsafe.size());
  for (const Given& argument : given) call.args.emplace_back(argument.name, argument.value);
  if (!is_foreign(node)) {
    if (auto done = write_special(builder, call)) return *done;
  }
  const Value result = write_generic(builder, node, call.name, given);
  if (node.outputs().size() == 1) return {result};
  ScriptValues out;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool used = node.outputs()[i]->hasUses();
    out.push_back(used ? ScriptValue(builder.getitem(result, int64_t(i))) : ScriptValue());
  }
  return out;
}

std::optional<ScriptValue> write_function(GraphBuilder& builder, const jit::Function& function,
                                          const ScriptValues& in) {
  static const std::regex overload("__\\d+$");
  const std::string name =
      std::regex_replace(plain_name(function.qualname().qualifiedName()), overload, "");
  const bool ours =
      name.starts_with("torch.nn.functional.") || name.starts_with("torchvision.ops.");
  const fx::Spelling* spelling = ours ? fx::operators().find(name) : nullptr;
  if (!spelling || !spelling->form) return std::nullopt;
  const std::vector<Given> given = read_arguments(builder, function.getSchema(), in);
  if (auto result = write_spelling(builder, name, given)) return ScriptValue(*result);
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript
