// Lists, which are references in TorchScript and may hold values that are nodes.

#include "frontends/torchscript/dict_rules.h"
#include "frontends/torchscript/interpreter.h"
#include "sparsebit/core/error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

using Result = std::optional<ScriptValues>;
using ListRule = Result (*)(ScriptValues& items, const ScriptValues& in);

int64_t known_int(const ScriptValue& datum, const char* what) {
  SPARSEBIT_CHECK(datum.is_known() && datum.is_value(), DataDependent, what,
                  " depends on data, which is known only when the model runs");
  return datum.value().to_int();
}

size_t position(const ScriptValues& items, const ScriptValue& index, size_t limit) {
  int64_t i = known_int(index, "an index into a list");
  if (i < 0) i += static_cast<int64_t>(items.size());
  SPARSEBIT_CHECK(i >= 0 && i < static_cast<int64_t>(limit), InvalidModel, "a list of ",
                  items.size(), " has no item ", i);
  return static_cast<size_t>(i);
}

ScriptValues sliced(const ScriptValues& items, const ScriptValues& in) {
  const int64_t size = items.size();
  const auto bound = [&](const ScriptValue& datum, int64_t otherwise) {
    if (datum.is_none()) return otherwise;
    const int64_t i = known_int(datum, "a slice of a list");
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const int64_t begin = bound(in[1], 0), end = bound(in[2], size);
  const int64_t step = known_int(in[3], "a slice of a list");
  SPARSEBIT_CHECK(step > 0, Unsupported, "a list is sliced with step ", step);
  ScriptValues result;
  for (int64_t i = begin; i < end; i += std::min(step, size)) result.push_back(items[i]);
  return result;
}

Result append(ScriptValues& items, const ScriptValues& in) {
  items.push_back(in[1]);
  return ScriptValues{in[0]};
}

Result extend(ScriptValues& items, const ScriptValues& in) {
  const ScriptValues* more = in[1].items();
  SPARSEBIT_CHECK(more, DataDependent,
                  "a list is extended by a list that is known only when the model runs");
  const ScriptValues copy = *more;
  items.insert(items.end(), copy.begin(), copy.end());
  return ScriptValues();
}

Result insert(ScriptValues& items, const ScriptValues& in) {
  const int64_t size = items.size();
  const int64_t index = known_int(in[1], "an index into a list");
  const int64_t at = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  items.insert(items.begin() + at, in[2]);
  return ScriptValues();
}

Result pop(ScriptValues& items, const ScriptValues& in) {
  const size_t at = position(items, in.size() > 1 ? in[1] : ScriptValue(Value(-1)), items.size());
  const ScriptValue last = items[at];
  items.erase(items.begin() + at);
  return ScriptValues{last};
}

Result set_item(ScriptValues& items, const ScriptValues& in) {
  items[position(items, in[1], items.size())] = in[2];
  return ScriptValues{in[0]};
}

Result remove_item(ScriptValues& items, const ScriptValues& in) {
  items.erase(items.begin() + position(items, in[1], items.size()));
  return ScriptValues();
}

/// Throws unless the items are known and can be compared.
void check_comparable(const ScriptValues& items, const char* what) {
  for (const ScriptValue& item : items) {
    SPARSEBIT_CHECK(item.is_known(), DataDependent, "a list is ", what,
                    " whose items depend on data, which is known only when the model runs");
    const bool simple = item.is_value() && (item.value().is_number() || item.value().is_string());
    SPARSEBIT_CHECK(simple, Unsupported, "a list is ", what,
                    " whose items are neither numbers nor strings");
    SPARSEBIT_CHECK(!item.value().is_double() || !std::isnan(item.value().to_double()), Unsupported,
                    "a list is ", what, " that has a NaN");
  }
}

/// Compares two items of a list; both must be of the same type.
bool is_less(const ScriptValue& a, const ScriptValue& b) {
  const Value &left = a.value(), &right = b.value();
  if (left.is_string() && right.is_string()) return left.string() < right.string();
  SPARSEBIT_CHECK(left.is_number() && right.is_number(), InvalidModel,
                  "a list is sorted that has both numbers and strings");
  if (left.is_double() || right.is_double()) return left.to_double() < right.to_double();
  return left.to_int() < right.to_int();
}

Result sort(ScriptValues& items, const ScriptValues& in) {
  check_comparable(items, "sorted");
  const bool reverse = in.size() > 1 && known_int(in[1], "the order of a list") != 0;
  std::stable_sort(items.begin(), items.end(), [&](const ScriptValue& a, const ScriptValue& b) {
    return reverse ? is_less(b, a) : is_less(a, b);
  });
  return ScriptValues();
}

Result remove_value(ScriptValues& items, const ScriptValues& in) {
  ScriptValues compared = items;
  compared.push_back(in[1]);
  check_comparable(compared, "searched");
  const auto found = std::find_if(items.begin(), items.end(), [&](const ScriptValue& item) {
    return item.value().same_as(in[1].value());
  });
  SPARSEBIT_CHECK(found != items.end(), InvalidModel,
                  "a value is removed from a list that does not contain it");
  items.erase(found);
  return ScriptValues();
}

Result clear(ScriptValues& items, const ScriptValues&) {
  items.clear();
  return ScriptValues();
}

Result reverse(ScriptValues& items, const ScriptValues&) {
  std::reverse(items.begin(), items.end());
  return ScriptValues();
}

Result get_item(ScriptValues& items, const ScriptValues& in) {
  return ScriptValues{items[position(items, in[1], items.size())]};
}

Result length(ScriptValues& items, const ScriptValues&) {
  return ScriptValues{Value(int64_t(items.size()))};
}
Result copy(ScriptValues& items, const ScriptValues&) {
  return ScriptValues{ScriptValue::list(items)};
}
Result slice(ScriptValues& items, const ScriptValues& in) {
  return ScriptValues{ScriptValue::list(sliced(items, in))};
}

Result concatenate(ScriptValues& items, const ScriptValues& in) {
  const ScriptValues* more = in[1].items();
  if (!more) return std::nullopt;
  ScriptValues all = items;
  all.insert(all.end(), more->begin(), more->end());
  return ScriptValues{ScriptValue::list(std::move(all))};
}

Result repeat(ScriptValues& items, const ScriptValues& in) {
  constexpr int64_t kMostItems = 1 << 20;
  const int64_t times = known_int(in[1], "the length of a list");
  SPARSEBIT_CHECK(items.empty() || times <= kMostItems / static_cast<int64_t>(items.size()),
                  InvalidModel, "a list of ", items.size(), " items, ", times, " times");
  ScriptValues all;
  for (int64_t i = items.empty() ? 0 : times; i > 0; --i)
    all.insert(all.end(), items.begin(), items.end());
  return ScriptValues{ScriptValue::list(std::move(all))};
}

/// dict([("a", x), ("b", y)])
Result dict_of_pairs(ScriptValues& items, const ScriptValues&) {
  DictRef dict{std::make_shared<std::vector<std::pair<ScriptValue, ScriptValue>>>()};
  for (const ScriptValue& item : items) {
    const ScriptValues* const pair = item.items();
    if (pair == nullptr || pair->size() != 2) return {};
    set_in_dict(dict, (*pair)[0], (*pair)[1]);
  }
  return ScriptValues{dict};
}

Result repeat_in_place(ScriptValues& items, const ScriptValues& in) {
  const Result all = repeat(items, in);
  items = *all->front().items();
  return ScriptValues{in[0]};
}

const std::map<std::string, ListRule>& list_rules() {
  static const std::map<std::string, ListRule> all = {
      {"append", append},
      {"extend", extend},
      {"insert", insert},
      {"pop", pop},
      {"clear", clear},
      {"reverse", reverse},
      {"sort", sort},
      {"remove", remove_value},
      {"_set_item", set_item},
      {"Delete", remove_item},
      {"__getitem__", get_item},
      {"len", length},
      {"list", copy},
      {"copy", copy},
      {"slice", slice},
      {"add", concatenate},
      {"mul", repeat},
      {"mul_", repeat_in_place},
      {"dict", dict_of_pairs},
      {"add_",
       [](ScriptValues& items, const ScriptValues& in) -> Result {
         extend(items, in);
         return ScriptValues{in[0]};
       }},
  };
  return all;
}

/// Throws Unsupported for an operator that changes its first input: libtorch would only change a
/// copy.
void check_unchanged(const jit::Node& node, const char* what) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr || schema->arguments().empty()) return;
  const c10::AliasInfo* const alias = schema->arguments()[0].alias_info();
  SPARSEBIT_CHECK(alias == nullptr || !alias->isWrite(), Unsupported, "operator '",
                  node.kind().toQualString(), "' changes a ", what,
                  " in place, which is not supported");
}

/// The operands of a sum of two lists, converted to lists: a node that stands for a list may give a
/// tuple.
ScriptValues as_lists(Interpreter& interpreter, const jit::Node& node, ScriptValues in) {
  for (size_t i = 0; i < 2; ++i) {
    const bool list = node.inputs()[i]->type()->kind() == c10::TypeKind::ListType;
    if (!list || !in[i].is_node()) continue;
    if (auto items = interpreter.items_by_sizes(in[i]))
      in[i] = ScriptValue::list(std::move(*items));
    else
      in[i] = interpreter.builder().function("list", {in[i].value()});
  }
  return in;
}

}  // namespace

std::optional<ScriptValues> run_container(Interpreter& interpreter, jit::Node& node,
                                          const ScriptValues& in) {
  if (in.empty()) {
    const bool empty_dict = node.kind() == c10::Symbol::fromQualString("aten::dict");
    return empty_dict ? Result(ScriptValues{DictRef{
                            std::make_shared<std::vector<std::pair<ScriptValue, ScriptValue>>>()}})
                      : std::nullopt;
  }
  const std::string name = node.kind().toUnqualString();
  if (name == "add" && in.size() == 2 && in[0].is<ListRef>() && in[1].is_node()) {
    const ScriptValues lists = as_lists(interpreter, node, in);
    if (Result sum = concatenate(*lists[0].get<ListRef>().items, lists)) return sum;
    return write_operator(interpreter.builder(), node, lists);
  }
  if (in[0].is<ListRef>()) {
    const auto rule = list_rules().find(name);
    if (rule != list_rules().end()) return rule->second(*in[0].get<ListRef>().items, in);
    check_unchanged(node, "list");
  }
  if (in[0].is<DictRef>()) {
    DictRef dict = in[0].get<DictRef>();
    const auto rule = dict_rules().find(name);
    if (rule != dict_rules().end()) return rule->second(dict, in);
    check_unchanged(node, "dict");
  }
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript
