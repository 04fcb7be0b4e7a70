// TorchScript's own operations (prim::) on values; most of them are evaluated during import and
// make no nodes.

#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/interpreter.h"
#include "sparsebit/core/error.h"

#include <torch/csrc/jit/ir/constants.h>

#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

using Result = std::optional<ScriptValues>;
using Rule = Result (*)(Interpreter&, jit::Node&, const ScriptValues&);

Result constant(Interpreter&, jit::Node& node, const ScriptValues&) {
  const auto type = node.output()->type();
  if (const auto function = type->cast<c10::FunctionType>())
    return ScriptValues{function->function()};
  const auto value = jit::toIValue(node.output());
  SPARSEBIT_CHECK(value, Unsupported, "a constant of type ", type->str(), " is not supported");
  if (value->isTensor()) {
    const std::string problem = tensor_problem(value->toTensor());
    SPARSEBIT_CHECK(problem.empty(), InvalidModel, "a constant tensor ", problem);
  }
  return ScriptValues{from_ivalue(*value)};
}

Result get_attribute(Interpreter& interpreter, jit::Node& node, const ScriptValues& in) {
  const std::string& name = node.s(c10::attr::name);
  SPARSEBIT_CHECK(in[0].is<ObjectRef>(), Unsupported, "attribute '", name,
                  "' is read from a value that is known only when the model runs");
  const c10::IValue value = in[0].get<ObjectRef>().object->getAttr(name);
  if (value.isTensor())
    return ScriptValues{Value(interpreter.source().canonical(value.toTensor()))};
  return ScriptValues{from_ivalue(value)};
}

Result set_attribute(Interpreter&, jit::Node& node, const ScriptValues&) {
  throw Error(ErrorKind::Unsupported, "the model assigns its attribute '" +
                                          node.s(c10::attr::name) +
                                          "' while it runs, which a graph cannot represent");
}

Result list(Interpreter&, jit::Node&, const ScriptValues& in) {
  return ScriptValues{ScriptValue::list(in)};
}
Result tuple(Interpreter&, jit::Node&, const ScriptValues& in) {
  return ScriptValues{ScriptValue::tuple(in)};
}

Result dict(Interpreter&, jit::Node&, const ScriptValues& in) {
  DictRef result{std::make_shared<std::vector<std::pair<ScriptValue, ScriptValue>>>()};
  for (size_t i = 0; i + 1 < in.size(); i += 2) result.items->emplace_back(in[i], in[i + 1]);
  return ScriptValues{result};
}

/// Unpacks a list or tuple; from a node, only the used items are read.
Result unpack(Interpreter& interpreter, jit::Node& node, const ScriptValues& in) {
  if (const ScriptValues* items = in[0].items()) {
    SPARSEBIT_CHECK(items->size() == node.outputs().size(), InvalidModel, "cannot unpack ",
                    items->size(), " values into ", node.outputs().size());
    return *items;
  }
  SPARSEBIT_CHECK(in[0].is_node(), Unsupported, "cannot unpack this value");
  ScriptValues out;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool used = node.outputs()[i]->hasUses();
    out.push_back(used ? ScriptValue(interpreter.builder().getitem(in[0].value(), int64_t(i)))
                       : ScriptValue());
  }
  return out;
}

Result tuple_index(Interpreter& interpreter, jit::Node&, const ScriptValues& in) {
  SPARSEBIT_CHECK(in[1].is_known(), DataDependent, "an index of a tuple depends on data");
  int64_t index = in[1].value().to_int();
  const ScriptValues* items = in[0].items();
  if (!items) return ScriptValues{interpreter.builder().getitem(in[0].value(), index)};
  if (index < 0) index += static_cast<int64_t>(items->size());
  SPARSEBIT_CHECK(index >= 0 && index < static_cast<int64_t>(items->size()), InvalidModel,
                  "a tuple of ", items->size(), " has no item ", index);
  return ScriptValues{(*items)[index]};
}

Result tuple_slice(Interpreter&, jit::Node& node, const ScriptValues& in) {
  const ScriptValues* items = in[0].items();
  SPARSEBIT_CHECK(items, Unsupported, "slicing a data-dependent tuple is not supported");
  const int64_t size = items->size();
  const int64_t begin = std::clamp<int64_t>(node.i(c10::attr::beg), 0, size);
  const int64_t end = std::clamp<int64_t>(node.i(c10::attr::end), begin, size);
  return ScriptValues{
      ScriptValue::tuple(ScriptValues(items->begin() + begin, items->begin() + end))};
}

Result same(Interpreter&, jit::Node&, const ScriptValues& in) { return ScriptValues{in[0]}; }
Result nothing(Interpreter&, jit::Node& node, const ScriptValues&) {
  return ScriptValues(node.outputs().size());
}

Result unwrap(Interpreter&, jit::Node&, const ScriptValues& in) {
  SPARSEBIT_CHECK(!in[0].is_none(), InvalidModel,
                  "an Optional value is None where a value is needed");
  return ScriptValues{in[0]};
}

Result raise(Interpreter&, jit::Node&, const ScriptValues& in) {
  const bool text = !in.empty() && in[0].is_value() && in[0].value().is_string();
  throw Error(ErrorKind::InvalidModel,
              "the model raises an exception" + (text ? ": " + in[0].value().string() : ""));
}

Result is_instance(Interpreter&, jit::Node& node, const ScriptValues& in) {
  c10::TypePtr type = node.input()->type();
  if (in[0].is_known() && !in[0].is_tensor())
    type = to_ivalue(in[0], type).type();
  else if (in[0].is<ObjectRef>())
    type = in[0].get<ObjectRef>().object->type();
  else if (const auto optional = type->cast<c10::OptionalType>())
    type = optional->getElementType();
  SPARSEBIT_CHECK(
      type->kind() != c10::TypeKind::AnyType && type->kind() != c10::TypeKind::UnionType,
      DataDependent, "isinstance() tests a value that is known only when the model runs");
  for (const c10::TypePtr& candidate : node.tys(c10::attr::types)) {
    if (type->isSubtypeOf(*candidate)) return ScriptValues{Value(true)};
  }
  return ScriptValues{Value(false)};
}

/// `x is None` and `x is not None`.
Result is_none(Interpreter& interpreter, jit::Node& node, const ScriptValues& in) {
  if (!in[0].is_none() && !in[1].is_none()) return std::nullopt;
  const ScriptValue& asked = in[1].is_none() ? in[0] : in[1];
  if (asked.is_node()) {
    for (const fx::Node* input : interpreter.fixable_inputs) {
      if (input == &asked.value().node()) throw InputDecides{input->target()};
    }
  }
  const bool expected = node.kind() == c10::aten::__is__;
  return ScriptValues{Value(asked.is_none() == expected)};
}

Result box(Interpreter&, jit::Node&, const ScriptValues& in) {
  if (!in[0].is_value()) return std::nullopt;
  const Value& number = in[0].value();
  if (!number.is_node() && !number.is_int()) return std::nullopt;
  return ScriptValues{Boxed{number, number.is_node() || number.get<int64_t>() >= 0}};
}

Result unbox(Interpreter&, jit::Node&, const ScriptValues& in) {
  if (!in[0].is<Boxed>()) return std::nullopt;
  return ScriptValues{in[0].get<Boxed>().number};
}

/// The number of iterations of range(start, stop, step).
Result range_length(Interpreter& interpreter, jit::Node&, const ScriptValues& in) {
  const bool numbers = in[0].is_value() && in[1].is_value() && in[2].is_value();
  if (!numbers || (in[0].is_known() && in[1].is_known())) return std::nullopt;
  if (!in[2].value().is_int() || in[2].value().to_int() < 1) return std::nullopt;
  GraphBuilder& builder = interpreter.builder();
  const int64_t step = in[2].value().to_int();
  Value count = builder.function("operator.sub", {in[1].value(), in[0].value()});
  if (step > 1) {
    count = builder.function("operator.add", {count, step - 1});
    count = builder.function("operator.floordiv", {count, step});
  }
  return ScriptValues{builder.function("max", {count, 0})};
}

/// The current number of such a loop: start + iteration * step.
Result range_item(Interpreter& interpreter, jit::Node&, const ScriptValues& in) {
  const bool numbers = in[0].is_value() && in[1].is_value() && in[2].is_value();
  if (!numbers || (in[0].is_known() && in[1].is_known() && in[2].is_known())) return std::nullopt;
  GraphBuilder& builder = interpreter.builder();
  const Value way = builder.function("operator.mul", {in[0].value(), in[2].value()});
  return ScriptValues{builder.function("operator.add", {in[1].value(), way})};
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all = {
      {"prim::Constant", constant},
      {"prim::GetAttr", get_attribute},
      {"prim::SetAttr", set_attribute},
      {"prim::ListConstruct", list},
      {"prim::TupleConstruct", tuple},
      {"prim::DictConstruct", dict},
      {"prim::ListUnpack", unpack},
      {"prim::TupleUnpack", unpack},
      {"prim::TupleIndex", tuple_index},
      {"prim::TupleSlice", tuple_slice},
      {"prim::unchecked_cast", same},
      {"prim::unchecked_unwrap_optional", unwrap},
      {"aten::_unwrap_optional", unwrap},
      {"prim::RaiseException", raise},
      {"prim::Uninitialized", nothing},
      {"prim::Print", nothing},
      {"aten::warn", nothing},
      {"prim::isinstance", is_instance},
      {"aten::__is__", is_none},
      {"aten::__isnot__", is_none},
      {"aten::__range_length", range_length},
      {"aten::__derive_index", range_item},
      {"prim::NumToTensor", box},
      {"aten::Int", unbox},
      {"aten::IntImplicit", unbox},
      {"aten::ScalarImplicit", unbox},
  };
  return all;
}

/// Arithmetic on sizes, which the tracer writes as arithmetic on tensors.
Result boxed_arithmetic(Interpreter& interpreter, jit::Node& node, const ScriptValues& in) {
  if (in.size() < 2 || (!in[0].is<Boxed>() && !in[1].is<Boxed>())) return std::nullopt;
  const auto number_of = [](const ScriptValue& datum) -> std::optional<Boxed> {
    if (datum.is<Boxed>()) return datum.get<Boxed>();
    if (!datum.is_value()) return std::nullopt;
    const Value& value = datum.value();
    const bool integer = value.is_int() || (value.is_tensor() && value.tensor().dim() == 0 &&
                                            value.tensor().scalar_type() == at::kLong);
    if (!integer) return std::nullopt;
    return Boxed{value.to_int(), value.to_int() >= 0};
  };
  const auto a = number_of(in[0]), b = number_of(in[1]);
  if (!a || !b) return std::nullopt;
  const bool positive = a->non_negative && b->non_negative;
  const std::string name = node.kind().toUnqualString();
  const bool alpha = in.size() > 2 && in[2].is_value() && in[2].value().is_int();
  const bool plain = !alpha || in[2].value().to_int() == 1;
  const auto write = [&](const char* target, bool non_negative) -> Result {
    return ScriptValues{
        Boxed{interpreter.builder().function(target, {a->number, b->number}), non_negative}};
  };
  if (name == "add" && plain) return write("operator.add", positive);
  if (name == "sub" && plain) return write("operator.sub", false);
  if (name == "mul") return write("operator.mul", positive);
  if (name == "floor_divide" && positive) return write("operator.floordiv", true);
  if (name == "remainder") return write("operator.mod", b->non_negative);
  if (name == "div" && in.size() > 2 && in[2].is_value() && in[2].value().is_string()) {
    const std::string& mode = in[2].value().string();
    if (mode == "floor" || positive) return write("operator.floordiv", positive);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScriptValues> run_prim(Interpreter& interpreter, jit::Node& node,
                                     const ScriptValues& in) {
  const auto rule = rules().find(node.kind().toQualString());
  if (rule != rules().end()) {
    if (Result done = rule->second(interpreter, node, in)) return done;
  }
  return boxed_arithmetic(interpreter, node, in);
}

}  // namespace sparsebit::frontends::torchscript
