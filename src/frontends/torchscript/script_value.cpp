#include "frontends/torchscript/script_value.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

c10::TypePtr without_optional(const c10::TypePtr& type) {
  const auto optional = type ? type->cast<c10::OptionalType>() : nullptr;
  return optional ? optional->getElementType() : type;
}

c10::TypePtr element_type(const c10::TypePtr& type, const std::vector<c10::IValue>& items) {
  const c10::TypePtr plain = without_optional(type);
  if (plain) {
    if (const auto list = plain->cast<c10::ListType>()) return list->getElementType();
  }
  return items.empty() ? c10::TypePtr(c10::AnyType::get()) : items.front().type();
}

c10::TypePtr tuple_element(const c10::TypePtr& type, size_t index) {
  const c10::TypePtr plain = without_optional(type);
  const auto tuple = plain ? plain->cast<c10::TupleType>() : nullptr;
  const bool known = tuple && index < tuple->elements().size();
  return known ? tuple->elements()[index] : c10::TypePtr(c10::AnyType::get());
}

c10::IValue make_list(const c10::TypePtr& type, const std::vector<c10::IValue>& items) {
  c10::impl::GenericList list(element_type(type, items));
  list.reserve(items.size());
  for (const c10::IValue& item : items) list.push_back(item);
  return list;
}

template <class Items>
std::vector<c10::IValue> convert_items(const Items& items, const c10::TypePtr& type) {
  std::vector<c10::IValue> result;
  const c10::TypePtr plain = without_optional(type);
  const auto list = plain ? plain->cast<c10::ListType>() : nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    result.push_back(to_ivalue(items[i], list ? list->getElementType() : tuple_element(type, i)));
  }
  return result;
}

c10::IValue make_dict(const std::vector<std::pair<c10::IValue, c10::IValue>>& items,
                      const c10::TypePtr& type) {
  const c10::TypePtr plain = without_optional(type);
  const auto dict_type = plain ? plain->cast<c10::DictType>() : nullptr;
  const c10::TypePtr any = c10::AnyType::get();
  c10::impl::GenericDict dict(dict_type       ? dict_type->getKeyType()
                              : items.empty() ? any
                                              : items.front().first.type(),
                              dict_type       ? dict_type->getValueType()
                              : items.empty() ? any
                                              : items.front().second.type());
  for (const auto& [key, value] : items) dict.insert(key, value);
  return dict;
}

/// TorchScript represents element types as ints.
c10::IValue convert_scalar(const Value& value, const c10::TypePtr& type) {
  if (value.is_none()) return {};
  if (value.is_bool()) return value.get<bool>();
  const c10::TypePtr plain = without_optional(type);
  if (value.is_int()) {
    const bool as_float = plain && plain->kind() == c10::TypeKind::FloatType;
    return as_float ? c10::IValue(double(value.get<int64_t>())) : value.get<int64_t>();
  }
  if (value.is_double()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_tensor()) return value.get<at::Tensor>();
  if (value.is<at::Device>()) return value.get<at::Device>();
  if (value.is<at::ScalarType>()) return static_cast<int64_t>(value.get<at::ScalarType>());
  throw Error(ErrorKind::Unsupported, "TorchScript cannot take " + fx::describe(value));
}

}  // namespace

ScriptValue ScriptValue::list(ScriptValues items) {
  return ListRef{std::make_shared<ScriptValues>(std::move(items))};
}

ScriptValue ScriptValue::tuple(ScriptValues items) {
  return TupleRef{std::make_shared<const ScriptValues>(std::move(items))};
}

const ScriptValues* ScriptValue::items() const {
  if (is<ListRef>()) return get<ListRef>().items.get();
  if (is<TupleRef>()) return get<TupleRef>().items.get();
  return nullptr;
}

bool ScriptValue::is_known() const {
  const auto known = [](const ScriptValue& item) { return item.is_known(); };
  if (const ScriptValues* all = items()) return std::all_of(all->begin(), all->end(), known);
  if (is<DictRef>()) {
    const auto& pairs = *get<DictRef>().items;
    return std::all_of(pairs.begin(), pairs.end(),
                       [](const auto& p) { return p.first.is_known() && p.second.is_known(); });
  }
  if (is<Boxed>()) return !get<Boxed>().number.is_node();
  return is<c10::IValue>() || (is_value() && !value().contains_node());
}

bool ScriptValue::has_tensor() const {
  const auto has = [](const ScriptValue& item) { return item.has_tensor(); };
  if (const ScriptValues* all = items()) return std::any_of(all->begin(), all->end(), has);
  if (is<DictRef>()) {
    const auto& pairs = *get<DictRef>().items;
    return std::any_of(pairs.begin(), pairs.end(),
                       [](const auto& p) { return p.second.has_tensor(); });
  }
  return is_tensor() || (is<c10::IValue>() && get<c10::IValue>().isTensor());
}

ScriptValue from_ivalue(const c10::IValue& value) {
  if (value.isNone()) return {};
  if (value.isBool()) return Value(value.toBool());
  if (value.isInt()) return Value(value.toInt());
  if (value.isDouble()) return Value(value.toDouble());
  if (value.isString()) return Value(value.toStringRef());
  if (value.isTensor()) return Value(value.toTensor());
  if (value.isDevice()) return Value(value.toDevice());
  if (value.isObject()) return ObjectRef{value.toObject()};
  if (value.isList()) {
    ScriptValues items;
    for (const c10::IValue& item : value.toListRef()) items.push_back(from_ivalue(item));
    return ScriptValue::list(std::move(items));
  }
  if (value.isTuple()) {
    ScriptValues items;
    for (const c10::IValue& item : value.toTupleRef().elements())
      items.push_back(from_ivalue(item));
    return ScriptValue::tuple(std::move(items));
  }
  if (value.isGenericDict()) {
    DictRef dict{std::make_shared<std::vector<std::pair<ScriptValue, ScriptValue>>>()};
    for (const auto& entry : value.toGenericDict())
      dict.items->emplace_back(from_ivalue(entry.key()), from_ivalue(entry.value()));
    return dict;
  }
  return ScriptValue(value);
}

c10::IValue to_ivalue(const ScriptValue& datum, const c10::TypePtr& type) {
  if (datum.is<ListRef>()) {
    const ScriptValues& items = *datum.items();
    return make_list(type, convert_items(items, type));
  }
  if (datum.is<TupleRef>()) {
    return c10::ivalue::Tuple::create(convert_items(*datum.items(), type));
  }
  if (datum.is<DictRef>()) {
    std::vector<std::pair<c10::IValue, c10::IValue>> items;
    const c10::TypePtr any = c10::AnyType::get();
    for (const auto& [key, value] : *datum.get<DictRef>().items)
      items.emplace_back(to_ivalue(key, any), to_ivalue(value, any));
    return make_dict(items, type);
  }
  if (datum.is<ObjectRef>()) return datum.get<ObjectRef>().object;
  if (datum.is<Boxed>()) return at::scalar_tensor(datum.get<Boxed>().number.to_int(), at::kLong);
  if (datum.is<c10::IValue>()) return datum.get<c10::IValue>();
  SPARSEBIT_CHECK(datum.is_value(), Unsupported, "a function is used as a value");
  return to_ivalue(datum.value(), type);
}

c10::IValue to_ivalue(const Value& value, const c10::TypePtr& type) {
  if (value.is_sequence()) {
    const std::vector<c10::IValue> items = convert_items(value.items(), type);
    const c10::TypePtr plain = without_optional(type);
    const bool wants_list = plain && plain->kind() == c10::TypeKind::ListType;
    const bool wants_tuple = plain && plain->kind() == c10::TypeKind::TupleType;
    if (wants_list || (value.is<fx::List>() && !wants_tuple)) return make_list(type, items);
    return c10::ivalue::Tuple::create(items);
  }
  if (value.is<fx::Dict>()) {
    std::vector<std::pair<c10::IValue, c10::IValue>> items;
    for (const auto& [key, item] : value.get<fx::Dict>().items)
      items.emplace_back(key, to_ivalue(item, c10::AnyType::get()));
    return make_dict(items, type);
  }
  return convert_scalar(value, type);
}

Value to_value(const c10::IValue& value) {
  if (value.isList() || value.isTuple()) {
    std::vector<Value> items;
    if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) items.push_back(to_value(item));
      return fx::List(std::move(items));
    }
    for (const c10::IValue& item : value.toTupleRef().elements()) items.push_back(to_value(item));
    return fx::Tuple(std::move(items));
  }
  if (value.isGenericDict()) {
    fx::Dict dict;
    for (const auto& entry : value.toGenericDict()) {
      SPARSEBIT_CHECK(entry.key().isString(), Unsupported,
                      "a dict has keys that are not strings: ", entry.key().tagKind());
      dict.items.emplace_back(entry.key().toStringRef(), to_value(entry.value()));
    }
    return dict;
  }
  const ScriptValue datum = from_ivalue(value);
  SPARSEBIT_CHECK(datum.is_value(), Unsupported, "a TorchScript value of type ", value.tagKind(),
                  " cannot be converted");
  return datum.value();
}

}  // namespace sparsebit::frontends::torchscript
