// Lists and dicts: they are references in TorchScript, and may hold values that are nodes.

#include "frontends/torchscript/interpreter.h"
#include "sparsebit/core/error.h"

#include <algorithm>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

using Result = std::optional<Data>;
using ListRule = Result (*)(Data& items, const Data& in);
using DictRule = Result (*)(DictRef& dict, const Data& in);

bool equal(const Datum& a, const Datum& b) {
  return a.is_value() && b.is_value() && a.value().same_as(b.value());
}

int64_t known_int(const Datum& datum, const char* what) {
  SPARSEBIT_CHECK(datum.is_known() && datum.is_value(), DataDependent, what,
                  " depends on data, which is known only when the model runs");
  return datum.value().to_int();
}

size_t position(const Data& items, const Datum& index, size_t limit) {
  int64_t i = known_int(index, "an index into a list");
  if (i < 0) i += static_cast<int64_t>(items.size());
  SPARSEBIT_CHECK(i >= 0 && i < static_cast<int64_t>(limit), InvalidModel, "a list of ",
                  items.size(), " has no item ", i);
  return static_cast<size_t>(i);
}

Data sliced(const Data& items, const Data& in) {
  const int64_t size = items.size();
  const auto bound = [&](const Datum& datum, int64_t otherwise) {
    if (datum.is_none()) return otherwise;
    const int64_t i = known_int(datum, "a slice of a list");
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const int64_t begin = bound(in[1], 0), end = bound(in[2], size);
  const int64_t step = known_int(in[3], "a slice of a list");
  SPARSEBIT_CHECK(step > 0, Unsupported, "a list is sliced with step ", step);
  Data result;
  for (int64_t i = begin; i < end; i += step) result.push_back(items[i]);
  return result;
}

Result append(Data& items, const Data& in) {
  items.push_back(in[1]);
  return Data{in[0]};
}

Result extend(Data& items, const Data& in) {
  const Data* more = in[1].items();
  SPARSEBIT_CHECK(more, DataDependent,
                  "a list is extended by one that is known only when the model runs");
  const Data copy = *more;
  items.insert(items.end(), copy.begin(), copy.end());
  return Data();
}

Result insert(Data& items, const Data& in) {
  const size_t at = std::min<size_t>(items.size(), known_int(in[1], "an index into a list"));
  items.insert(items.begin() + at, in[2]);
  return Data();
}

Result pop(Data& items, const Data& in) {
  const size_t at = position(items, in.size() > 1 ? in[1] : Datum(Value(-1)), items.size());
  const Datum last = items[at];
  items.erase(items.begin() + at);
  return Data{last};
}

Result set_item(Data& items, const Data& in) {
  items[position(items, in[1], items.size())] = in[2];
  return Data{in[0]};
}

Result remove_item(Data& items, const Data& in) {
  items.erase(items.begin() + position(items, in[1], items.size()));
  return Data();
}

Result clear(Data& items, const Data&) {
  items.clear();
  return Data();
}

Result reverse(Data& items, const Data&) {
  std::reverse(items.begin(), items.end());
  return Data();
}

Result get_item(Data& items, const Data& in) {
  return Data{items[position(items, in[1], items.size())]};
}

Result length(Data& items, const Data&) { return Data{Value(int64_t(items.size()))}; }
Result copy(Data& items, const Data&) { return Data{Datum::list(items)}; }
Result slice(Data& items, const Data& in) { return Data{Datum::list(sliced(items, in))}; }

Result concatenate(Data& items, const Data& in) {
  const Data* more = in[1].items();
  if (!more) return std::nullopt;
  Data all = items;
  all.insert(all.end(), more->begin(), more->end());
  return Data{Datum::list(std::move(all))};
}

Result repeat(Data& items, const Data& in) {
  constexpr int64_t kMostItems = 1 << 20;
  const int64_t times = known_int(in[1], "the length of a list");
  SPARSEBIT_CHECK(items.empty() || times <= kMostItems / static_cast<int64_t>(items.size()),
                  InvalidModel, "a list of ", items.size(), " items, ", times, " times");
  Data all;
  for (int64_t i = items.empty() ? 0 : times; i > 0; --i)
    all.insert(all.end(), items.begin(), items.end());
  return Data{Datum::list(std::move(all))};
}

auto find_key(const DictRef& dict, const Datum& key) {
  SPARSEBIT_CHECK(key.is_known(), DataDependent, "a key of a dict depends on data");
  return std::find_if(dict.items->begin(), dict.items->end(),
                      [&](const auto& item) { return equal(item.first, key); });
}

Result dict_set(DictRef& dict, const Data& in) {
  const auto found = find_key(dict, in[1]);
  if (found != dict.items->end())
    found->second = in[2];
  else
    dict.items->emplace_back(in[1], in[2]);
  return Data();
}

/// dict([("a", x), ("b", y)])
Result dict_of_pairs(Data& items, const Data&) {
  DictRef dict{std::make_shared<std::vector<std::pair<Datum, Datum>>>()};
  for (const Datum& item : items) {
    const Data* const pair = item.items();
    if (pair == nullptr || pair->size() != 2) return {};
    dict_set(dict, {Datum(), (*pair)[0], (*pair)[1]});
  }
  return Data{dict};
}

const std::map<std::string, ListRule>& list_rules() {
  static const std::map<std::string, ListRule> all = {
      {"append", append},
      {"extend", extend},
      {"insert", insert},
      {"pop", pop},
      {"clear", clear},
      {"reverse", reverse},
      {"_set_item", set_item},
      {"Delete", remove_item},
      {"__getitem__", get_item},
      {"len", length},
      {"list", copy},
      {"copy", copy},
      {"slice", slice},
      {"add", concatenate},
      {"mul", repeat},
      {"dict", dict_of_pairs},
      {"add_",
       [](Data& items, const Data& in) -> Result {
         extend(items, in);
         return Data{in[0]};
       }},
  };
  return all;
}

Result dict_get(DictRef& dict, const Data& in) {
  const auto found = find_key(dict, in[1]);
  return Data{found != dict.items->end() ? found->second : in.size() > 2 ? in[2] : Datum()};
}

Result dict_item(DictRef& dict, const Data& in) {
  const auto found = find_key(dict, in[1]);
  SPARSEBIT_CHECK(found != dict.items->end(), InvalidModel, "a dict has no such key");
  return Data{found->second};
}

Result dict_pop(DictRef& dict, const Data& in) {
  const auto found = find_key(dict, in[1]);
  if (found == dict.items->end() && in.size() > 2) return Data{in[2]};
  SPARSEBIT_CHECK(found != dict.items->end(), InvalidModel, "a dict has no such key");
  const Datum value = found->second;
  dict.items->erase(found);
  return Data{value};
}

Result dict_contains(DictRef& dict, const Data& in) {
  return Data{Value(find_key(dict, in[1]) != dict.items->end())};
}

Result dict_keys(DictRef& dict, const Data&) {
  Data keys;
  for (const auto& [key, value] : *dict.items) keys.push_back(key);
  return Data{Datum::list(std::move(keys))};
}

Result dict_values(DictRef& dict, const Data&) {
  Data values;
  for (const auto& [key, value] : *dict.items) values.push_back(value);
  return Data{Datum::list(std::move(values))};
}

Result dict_items(DictRef& dict, const Data&) {
  Data pairs;
  for (const auto& [key, value] : *dict.items) pairs.push_back(Datum::tuple({key, value}));
  return Data{Datum::list(std::move(pairs))};
}

Result dict_copy(DictRef& dict, const Data&) {
  return Data{DictRef{std::make_shared<std::vector<std::pair<Datum, Datum>>>(*dict.items)}};
}

Result dict_length(DictRef& dict, const Data&) { return Data{Value(int64_t(dict.items->size()))}; }

const std::map<std::string, DictRule>& dict_rules() {
  static const std::map<std::string, DictRule> all = {
      {"get", dict_get},
      {"__getitem__", dict_item},
      {"_set_item", dict_set},
      {"pop", dict_pop},
      {"__contains__", dict_contains},
      {"keys", dict_keys},
      {"values", dict_values},
      {"items", dict_items},
      {"copy", dict_copy},
      {"dict", dict_copy},
      {"len", dict_length},
  };
  return all;
}

}  // namespace

std::optional<Data> run_container(Interpreter&, jit::Node& node, const Data& in) {
  if (in.empty()) {
    const bool empty_dict = node.kind() == c10::Symbol::fromQualString("aten::dict");
    return empty_dict
               ? Result(Data{DictRef{std::make_shared<std::vector<std::pair<Datum, Datum>>>()}})
               : std::nullopt;
  }
  const std::string name = node.kind().toUnqualString();
  if (in[0].is<ListRef>()) {
    const auto rule = list_rules().find(name);
    if (rule != list_rules().end()) return rule->second(*in[0].get<ListRef>().items, in);
  }
  if (in[0].is<DictRef>()) {
    DictRef dict = in[0].get<DictRef>();
    const auto rule = dict_rules().find(name);
    if (rule != dict_rules().end()) return rule->second(dict, in);
  }
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript
