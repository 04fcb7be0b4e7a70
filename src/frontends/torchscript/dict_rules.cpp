// Dicts, which are references like lists and keep the order of insertion.

#include "frontends/torchscript/dict_rules.h"

#include "sparsebit/core/error.h"

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;

using Result = std::optional<ScriptValues>;

bool equal(const ScriptValue& a, const ScriptValue& b) {
  return a.is_value() && b.is_value() && a.value().same_as(b.value());
}

auto find_key(const DictRef& dict, const ScriptValue& key) {
  SPARSEBIT_CHECK(key.is_known(), DataDependent, "a key of a dict depends on data");
  return std::find_if(dict.items->begin(), dict.items->end(),
                      [&](const auto& item) { return equal(item.first, key); });
}

/// The item of a key that must exist.
auto find_item(const DictRef& dict, const ScriptValue& key) {
  const auto found = find_key(dict, key);
  SPARSEBIT_CHECK(found != dict.items->end(), InvalidModel, "a dict has no such key");
  return found;
}

Result dict_set(DictRef& dict, const ScriptValues& in) {
  set_in_dict(dict, in[1], in[2]);
  return ScriptValues();
}

Result dict_set_default(DictRef& dict, const ScriptValues& in) {
  const auto found = find_key(dict, in[1]);
  if (found != dict.items->end()) return ScriptValues{found->second};
  dict.items->emplace_back(in[1], in[2]);
  return ScriptValues{in[2]};
}

Result dict_update(DictRef& dict, const ScriptValues& in) {
  SPARSEBIT_CHECK(in[1].is<DictRef>(), DataDependent,
                  "a dict is updated by a dict that is known only when the model runs");
  const auto copy = *in[1].get<DictRef>().items;
  for (const auto& [key, value] : copy) set_in_dict(dict, key, value);
  return ScriptValues();
}

Result dict_delete(DictRef& dict, const ScriptValues& in) {
  dict.items->erase(find_item(dict, in[1]));
  return ScriptValues();
}

/// dict.popitem(): TorchScript removes the first item, Python the last.
Result dict_pop_item(DictRef& dict, const ScriptValues&) {
  SPARSEBIT_CHECK(!dict.items->empty(), InvalidModel, "an item is taken from an empty dict");
  const auto [key, value] = dict.items->front();
  dict.items->erase(dict.items->begin());
  return ScriptValues{ScriptValue::tuple({key, value})};
}

Result dict_clear(DictRef& dict, const ScriptValues&) {
  dict.items->clear();
  return ScriptValues();
}

Result dict_get(DictRef& dict, const ScriptValues& in) {
  const auto found = find_key(dict, in[1]);
  return ScriptValues{found != dict.items->end() ? found->second
                      : in.size() > 2            ? in[2]
                                                 : ScriptValue()};
}

Result dict_item(DictRef& dict, const ScriptValues& in) {
  return ScriptValues{find_item(dict, in[1])->second};
}

Result dict_pop(DictRef& dict, const ScriptValues& in) {
  if (in.size() > 2 && find_key(dict, in[1]) == dict.items->end()) return ScriptValues{in[2]};
  const auto found = find_item(dict, in[1]);
  const ScriptValue value = found->second;
  dict.items->erase(found);
  return ScriptValues{value};
}

Result dict_contains(DictRef& dict, const ScriptValues& in) {
  return ScriptValues{Value(find_key(dict, in[1]) != dict.items->end())};
}

Result dict_keys(DictRef& dict, const ScriptValues&) {
  ScriptValues keys;
  for (const auto& [key, value] : *dict.items) keys.push_back(key);
  return ScriptValues{ScriptValue::list(std::move(keys))};
}

Result dict_values(DictRef& dict, const ScriptValues&) {
  ScriptValues values;
  for (const auto& [key, value] : *dict.items) values.push_back(value);
  return ScriptValues{ScriptValue::list(std::move(values))};
}

Result dict_items(DictRef& dict, const ScriptValues&) {
  ScriptValues pairs;
  for (const auto& [key, value] : *dict.items) pairs.push_back(ScriptValue::tuple({key, value}));
  return ScriptValues{ScriptValue::list(std::move(pairs))};
}

Result dict_copy(DictRef& dict, const ScriptValues&) {
  return ScriptValues{
      DictRef{std::make_shared<std::vector<std::pair<ScriptValue, ScriptValue>>>(*dict.items)}};
}

Result dict_length(DictRef& dict, const ScriptValues&) {
  return ScriptValues{Value(int64_t(dict.items->size()))};
}

}  // namespace

void set_in_dict(DictRef& dict, const ScriptValue& key, const ScriptValue& value) {
  const auto found = find_key(dict, key);
  if (found != dict.items->end())
    found->second = value;
  else
    dict.items->emplace_back(key, value);
}

const std::map<std::string, DictRule>& dict_rules() {
  static const std::map<std::string, DictRule> all = {
      {"get", dict_get},       {"__getitem__", dict_item},
      {"_set_item", dict_set}, {"setdefault", dict_set_default},
      {"update", dict_update}, {"Delete", dict_delete},
      {"pop", dict_pop},       {"popitem", dict_pop_item},
      {"clear", dict_clear},   {"__contains__", dict_contains},
      {"keys", dict_keys},     {"values", dict_values},
      {"items", dict_items},   {"copy", dict_copy},
      {"dict", dict_copy},     {"len", dict_length},
  };
  return all;
}

}  // namespace sparsebit::frontends::torchscript
