#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/TensorIndexing.h>

#include <algorithm>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using at::indexing::TensorIndex;

c10::optional<int64_t> bound(const Value& value) {
  if (value.is_none()) return c10::nullopt;
  return value.to_int();
}

Tensor index_tensor(const Value& index) {
  if (index.is_tensor()) return index.tensor();
  return index.items().empty() ? at::empty({0}, at::kLong) : tensor_from(index);
}

/// Appends instead of returning an index, since copying a TensorIndex reads its unset members.
void append_index(const Value& index, std::vector<TensorIndex>& indices) {
  if (index.is_none()) {
    indices.emplace_back(at::indexing::None);
  } else if (index.is<Ellipsis>()) {
    indices.emplace_back(at::indexing::Ellipsis);
  } else if (index.is_bool()) {
    indices.emplace_back(index.to_bool());
  } else if (index.is_int()) {
    indices.emplace_back(index.to_int());
  } else if (index.is<Slice>()) {
    const Slice& slice = index.get<Slice>();
    indices.emplace_back(
        at::indexing::Slice(bound(slice.start()), bound(slice.stop()), bound(slice.step())));
  } else if (index.is_tensor() || index.is_sequence()) {
    indices.emplace_back(index_tensor(index));
  } else {
    throw Error(ErrorKind::InvalidArgument,
                {.what = "invalid index of a tensor",
                 .expected = "ints, slices, None, '...', bools, tensors or lists of numbers",
                 .found = describe(index)});
  }
}

/// torch's rule, kept from numpy: a list with anything but numbers in it counts as a tuple.
bool lists_indices(const Value& index) {
  if (index.is<Tuple>()) return true;
  if (!index.is<List>()) return false;
  return std::any_of(index.items().begin(), index.items().end(),
                     [](const Value& item) { return !item.is_number(); });
}

std::vector<TensorIndex> tensor_indices(const Value& index) {
  const std::vector<Value> items = lists_indices(index) ? index.items() : std::vector{index};
  std::vector<TensorIndex> indices;
  indices.reserve(items.size());
  for (const Value& item : items) append_index(item, indices);
  return indices;
}

/// Positions that `sequence[slice]` picks, after Python's rules for missing and negative bounds.
std::vector<size_t> slice_positions(const Slice& slice, size_t size) {
  const auto count = static_cast<int64_t>(size);
  const int64_t step = slice.step().is_none() ? 1 : slice.step().to_int();
  SPARSEBIT_CHECK(step != 0, InvalidArgument, "slice step cannot be zero");
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
  const auto resolve = [&](const Value& bound, int64_t missing) {
    if (bound.is_none()) return missing;
    const int64_t position = bound.to_int();
    return std::clamp(position < 0 ? position + count : position, lowest, highest);
  };
  const int64_t start = resolve(slice.start(), step > 0 ? lowest : highest);
  const int64_t stop = resolve(slice.stop(), step > 0 ? highest : lowest);
  std::vector<size_t> positions;
  int64_t i = start;
  while (step > 0 ? i < stop : i > stop) {
    positions.push_back(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return positions;
}

std::vector<Value> pick(const std::vector<Value>& items, const Slice& slice) {
  std::vector<Value> picked;
  for (const size_t i : slice_positions(slice, items.size())) picked.push_back(items[i]);
  return picked;
}

Value item_of_text(const std::string& text, const Value& index) {
  if (!index.is<Slice>()) {
    return std::string(1, text[python::item_position(index.to_int(), text.size(), "string")]);
  }
  std::string picked;
  for (const size_t i : slice_positions(index.get<Slice>(), text.size())) picked += text[i];
  return picked;
}

Value item_of_dict(const Dict& dict, const Value& key) {
  const Value* found = dict.find(key.string());
  SPARSEBIT_CHECK(found, InvalidArgument, "the dict has no key ", describe(key));
  return *found;
}

Value getitem(const Args& a) {
  const Value &object = a["input"], &index = a["index"];
  if (object.is_tensor()) {
    const std::vector<TensorIndex> indices = tensor_indices(index);
    return indices.empty() ? at::alias(object.tensor()) : object.tensor().index(indices);
  }
  if (object.is<Dict>()) return item_of_dict(object.get<Dict>(), index);
  if (object.is_string()) return item_of_text(object.string(), index);
  const std::vector<Value>& items = object.items();
  const bool list = object.is<List>();
  if (index.is<Slice>()) {
    std::vector<Value> picked = pick(items, index.get<Slice>());
    return list ? Value(List(std::move(picked))) : Value(Tuple(std::move(picked)));
  }
  return items[python::item_position(index.to_int(), items.size(), list ? "list" : "tuple")];
}

Value setitem(const Args& a) {
  SPARSEBIT_CHECK(a["input"].is_tensor(), InvalidArgument,
                  "item assignment is supported for tensors only, got ", describe(a["input"]));
  Tensor x = a.tensor("input");
  const Value& value = a["value"];
  const std::vector<TensorIndex> indices = tensor_indices(a["index"]);
  if (value.is_tensor()) {
    x.index_put_(indices, value.tensor());
  } else {
    x.index_put_(indices, a.scalar("value"));
  }
  return None();
}

}  // namespace

void add_getitem_operators(OperatorTable& table) {
  table.add({.name = "getitem",
             .schema = "input, index",
             .forms = {"operator.getitem"},
             .view = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Lookup,
             .kernel = getitem});
  table.add({.name = "setitem",
             .schema = "input, index, value",
             .forms = {"operator.setitem"},
             .effect = Effect::WritesInput,
             .kernel = setitem});
}

}  // namespace sparsebit::fx
