// Maps ATen operators to the operator table, with arguments bound by name.

#include "frontends/torchscript/aten.h"

#include "sparsebit/fx/ops/operator.h"

#include <algorithm>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

struct BoundCall {
  std::vector<Value> args;
  fx::Kwargs kwargs;
};

/// Alternative names in the vocabulary for an argument of ATen, tried in order after the name
/// itself.
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

/// Arguments that only affect where or how a result is computed.
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

/// The given arguments in the slots of the spelling; empty when one of them has no slot.
std::optional<std::vector<std::optional<Value>>> assign(const fx::Spelling& spelling,
                                                        const std::vector<AtenArgument>& given) {
  const std::vector<fx::Parameter>& parameters = schema_of(spelling).parameters();
  std::vector<std::optional<Value>> slots(parameters.size());
  for (const AtenArgument& argument : given) {
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

std::optional<BoundCall> bind(const fx::Spelling& spelling,
                              const std::vector<AtenArgument>& given) {
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
    } else if (positional && p.variadic && value->is_sequence()) {
      if (value->items().empty()) call.args.push_back(*value);
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

std::optional<Value> write_tensor_operator(GraphBuilder& builder, const std::string& name,
                                           const std::vector<AtenArgument>& given) {
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

/// The name of Python's operator or function on numbers, strings and lists.
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

Value write_generic(GraphBuilder& builder, const AtenCall& call) {
  const bool own = call.library == "aten" || call.library == "prim";
  if (own && call.has_tensors) {
    if (auto result = write_tensor_operator(builder, call.name, call.args)) return *result;
  }
  const std::string* python = own ? python_spelling(call.name) : nullptr;
  if (python) return builder.function(*python, call.values());
  // Not in the vocabulary: kept unchanged, so that the model can be inspected; it cannot run.
  return builder.function("torch.ops." + call.library + "." + call.name, call.values());
}

}  // namespace

const Value* AtenCall::find(std::string_view argument) const {
  for (const AtenArgument& given : args) {
    if (given.name == argument) return &given.value;
  }
  return nullptr;
}

Value AtenCall::operator[](std::string_view argument) const {
  const Value* found = find(argument);
  return found ? *found : Value();
}

std::vector<Value> AtenCall::values() const {
  std::vector<Value> result;
  for (const AtenArgument& given : args) result.push_back(given.value);
  return result;
}

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
      return {};  // contiguous is the default of the operators
  }
}

std::optional<Value> write_spelling(GraphBuilder& builder, const std::string& spelled,
                                    const std::vector<AtenArgument>& given,
                                    const fx::Kwargs& more) {
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

ScriptValues write_call(GraphBuilder& builder, AtenCall call) {
  constexpr std::string_view unsafe = "unsafe_";  // views without the checks of autograd
  if (call.name.starts_with(unsafe)) call.name.erase(0, unsafe.size());
  if (call.library == "aten" || call.library == "prim") {
    if (auto done = write_special(builder, call)) return *done;
  }
  const Value result = write_generic(builder, call);
  if (call.outputs == 1) return {result};
  ScriptValues out;
  for (size_t i = 0; i < call.outputs; ++i)
    out.push_back(ScriptValue(builder.getitem(result, int64_t(i))));
  return out;
}

}  // namespace sparsebit::frontends::torchscript
