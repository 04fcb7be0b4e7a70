#include "frontends/onnx/shape_rules.h"

#include <algorithm>

namespace sparsebit::frontends {
namespace {

using fx::TensorInfo;
using Ints = std::vector<int64_t>;

/// -1 for a size that is a node.
Ints known_sizes(const fx::List& list) {
  Ints sizes;
  for (const fx::Value& item : list.items) sizes.push_back(item.is_int() ? item.to_int() : -1);
  return sizes;
}

/// Number of elements; empty when unknown.
std::optional<int64_t> count_of(const Ints& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

/// Attribute of older operator sets, input of newer ones.
std::optional<Ints> attribute_or_input(const Conversion& c, const char* name, size_t input) {
  return c.has_input(input) ? c.constant_ints(input) : c.attributes().ints(name);
}

MaybeInfo reshape(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  const auto list = c.int_list(1);
  if (!x || !list) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  std::optional<size_t> open;
  for (size_t i = 0; i < list->items.size(); ++i) {
    const fx::Value& item = list->items[i];
    const bool copies =
        item.is_int() && item.to_int() == 0 && !c.attributes().flag("allowzero", false);
    if (copies && i < x->shape.size()) {
      copy_size(*x, i, result);
      continue;
    }
    const bool is_open = item.is_int() && item.to_int() == -1;
    if (is_open) open = i;
    add_size(result, item.is_int() && !is_open ? item.to_int() : -1);
  }
  const bool one_unknown = std::count(result.shape.begin(), result.shape.end(), -1) == 1;
  const auto total = count_of(x->shape);
  if (open && one_unknown && total) {
    result.shape[*open] = 1;
    const auto rest = count_of(result.shape);
    result.shape[*open] = rest && *rest > 0 ? *total / *rest : -1;
  }
  return result;
}

MaybeInfo flatten(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  int64_t axis = c.attributes().integer("axis", 1);
  const auto rank = static_cast<int64_t>(x->shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  if (axis == 1) {
    copy_size(*x, 0, result);
  } else {
    add_size(result, count_of({x->shape.begin(), x->shape.begin() + axis}).value_or(-1));
  }
  add_size(result, count_of({x->shape.begin() + axis, x->shape.end()}).value_or(-1));
  return result;
}

MaybeInfo transpose(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  Ints reversed;
  for (size_t i = x->shape.size(); i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  for (const int64_t axis : c.attributes().ints("perm", reversed)) {
    const auto i = axis_of(axis, x->shape.size());
    if (!i) return std::nullopt;
    copy_size(*x, *i, result);
  }
  return result;
}

MaybeInfo squeeze(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  const auto axes = attribute_or_input(c, "axes", 1);
  if (!x || !axes) return std::nullopt;
  std::vector<bool> gone(x->shape.size());
  for (const int64_t axis : *axes) {
    const auto i = axis_of(axis, x->shape.size());
    if (!i) return std::nullopt;
    gone[*i] = true;
  }
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  for (size_t i = 0; i < x->shape.size(); ++i) {
    if (!gone[i]) copy_size(*x, i, result);
  }
  return result;
}

MaybeInfo unsqueeze(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  const auto axes = attribute_or_input(c, "axes", 1);
  if (!x || !axes) return std::nullopt;
  std::vector<bool> is_new(x->shape.size() + axes->size());
  for (const int64_t axis : *axes) {
    const auto i = axis_of(axis, is_new.size());
    if (!i || is_new[*i]) return std::nullopt;
    is_new[*i] = true;
  }
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  size_t next = 0;
  for (const bool inserted : is_new) {
    if (inserted) {
      add_size(result, 1);
    } else {
      copy_size(*x, next++, result);
    }
  }
  return result;
}

MaybeInfo concat(const Conversion& c) {
  MaybeInfo first = c.info(0);
  if (!first) return std::nullopt;
  const auto axis = axis_of(c.attributes().integer("axis", 1), first->shape.size());
  if (!axis) return std::nullopt;
  int64_t& total = first->shape[*axis];
  for (size_t i = 1; i < c.input_count(); ++i) {
    const MaybeInfo next = c.info(i);
    if (!next || next->shape.size() != first->shape.size()) return std::nullopt;
    const int64_t size = next->shape[*axis];
    if (total < 0 || size < 0 || __builtin_add_overflow(total, size, &total)) total = -1;
  }
  if (*axis < first->symbols.size()) first->symbols[*axis] = "";
  return first;
}

/// Only for parts of equal size, which is what infer_outputs() gives to all of them.
MaybeInfo split(const Conversion& c) {
  MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  const auto axis = axis_of(c.attributes().integer("axis", 0), x->shape.size());
  const auto parts = static_cast<int64_t>(c.output_count());
  if (!axis || parts == 0) return std::nullopt;
  const auto sizes = attribute_or_input(c, "split", 1);
  const bool given = c.has_input(1) || c.attributes().has("split");
  if (given && (!sizes || sizes->empty())) return std::nullopt;
  if (given && std::count(sizes->begin(), sizes->end(), sizes->front()) != parts) {
    return std::nullopt;
  }
  const int64_t size = x->shape[*axis];
  if (!given && (size < 0 || size % parts != 0)) return std::nullopt;
  x->shape[*axis] = given ? sizes->front() : size / parts;
  if (*axis < x->symbols.size()) x->symbols[*axis] = "";
  return x;
}

/// `x` with unknown sizes along these axes, or along all.
MaybeInfo without_sizes(TensorInfo x, const std::optional<Ints>& axes) {
  if (!axes) return unnamed(Ints(x.shape.size(), -1), x.dtype);
  for (const int64_t axis : *axes) {
    const auto i = axis_of(axis, x.shape.size());
    if (!i) return std::nullopt;
    x.shape[*i] = -1;
    if (*i < x.symbols.size()) x.symbols[*i] = "";
  }
  return x;
}

/// The rank is always known; the sizes of the sliced axes only when all bounds are.
MaybeInfo slice(const Conversion& c) {
  MaybeInfo x = c.info(0);
  const bool as_inputs = c.opset() >= 10;
  const auto starts = as_inputs ? c.constant_ints(1) : c.attributes().ints("starts");
  const auto ends = as_inputs ? c.constant_ints(2) : c.attributes().ints("ends");
  if (!x) return std::nullopt;
  const bool has_axes = as_inputs ? c.has_input(3) : c.attributes().has("axes");
  const auto axes = as_inputs ? c.constant_ints(3) : c.attributes().ints("axes");
  const auto steps = as_inputs ? c.constant_ints(4) : std::nullopt;
  if (has_axes && !axes) return unnamed(Ints(x->shape.size(), -1), x->dtype);
  if (!starts || !ends || (as_inputs && c.has_input(4) && !steps)) {
    return without_sizes(*x, axes);
  }
  for (size_t k = 0; k < starts->size() && k < ends->size(); ++k) {
    const auto wanted = axes && k < axes->size() ? (*axes)[k] : static_cast<int64_t>(k);
    const auto i = axis_of(wanted, x->shape.size());
    if (!i) return std::nullopt;
    int64_t& size = x->shape[*i];
    const bool plain = !steps || (k < steps->size() && (*steps)[k] == 1);
    const auto clamp = [&size](int64_t bound) {
      return std::clamp(bound < 0 ? bound + size : bound, int64_t{0}, size);
    };
    if (*i < x->symbols.size()) x->symbols[*i] = "";
    size = size >= 0 && plain ? std::max<int64_t>(clamp((*ends)[k]) - clamp((*starts)[k]), 0) : -1;
  }
  return x;
}

MaybeInfo sizes_from(const Conversion& c, size_t input, at::ScalarType dtype) {
  const auto list = c.int_list(input);
  return list ? MaybeInfo(unnamed(known_sizes(*list), dtype)) : std::nullopt;
}

MaybeInfo constant_of_shape(const Conversion& c) {
  const auto value = c.attributes().tensor("value");
  return sizes_from(c, 0, value ? value->scalar_type() : at::kFloat);
}

/// Expand broadcasts both ways, so a size of 1 in the list leaves the input's own.
MaybeInfo expand(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  const MaybeInfo wanted = x ? sizes_from(c, 1, x->dtype) : std::nullopt;
  if (!wanted) return std::nullopt;
  const size_t rank = std::max(x->shape.size(), wanted->shape.size());
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  for (size_t i = 0; i < rank; ++i) {
    const bool in_x = i + x->shape.size() >= rank, in_list = i + wanted->shape.size() >= rank;
    const int64_t own = in_x ? x->shape[i + x->shape.size() - rank] : 1;
    const int64_t size = in_list ? wanted->shape[i + wanted->shape.size() - rank] : 1;
    if (in_x && size == 1) {
      copy_size(*x, i + x->shape.size() - rank, result);
    } else {
      add_size(result, own == 1 || own == size ? size : (size < 0 && own > 1 ? own : size));
    }
  }
  return result;
}

MaybeInfo tile(const Conversion& c) {
  MaybeInfo x = c.info(0);
  const auto repeats = c.constant_ints(1);
  if (!x || !repeats || repeats->size() != x->shape.size()) return std::nullopt;
  for (size_t i = 0; i < repeats->size(); ++i) {
    if ((*repeats)[i] == 1) continue;
    int64_t& size = x->shape[i];
    if (size < 0 || __builtin_mul_overflow(size, (*repeats)[i], &size)) size = -1;
    if (i < x->symbols.size()) x->symbols[i] = "";
  }
  return x;
}

MaybeInfo pad(const Conversion& c) {
  MaybeInfo x = c.info(0);
  const auto pads = attribute_or_input(c, "pads", 1);
  if (!x || c.has_input(3)) return std::nullopt;
  if (!pads || pads->size() != 2 * x->shape.size()) {
    return unnamed(Ints(x->shape.size(), -1), x->dtype);
  }
  for (size_t i = 0; i < x->shape.size(); ++i) {
    int64_t more = 0;
    if (__builtin_add_overflow((*pads)[i], (*pads)[i + x->shape.size()], &more))
      return std::nullopt;
    if (more == 0) continue;
    int64_t& size = x->shape[i];
    if (size < 0 || __builtin_add_overflow(size, more, &size) || size < 0) size = -1;
    if (i < x->symbols.size()) x->symbols[i] = "";
  }
  return x;
}

}  // namespace

void add_layout_rules(ShapeRules& r) {
  r["Concat"] = concat;
  r["ConstantOfShape"] = constant_of_shape;
  r["Expand"] = expand;
  r["Flatten"] = flatten;
  r["Pad"] = pad;
  r["Reshape"] = reshape;
  r["Slice"] = slice;
  r["Split"] = split;
  r["Squeeze"] = squeeze;
  r["Tile"] = tile;
  r["Transpose"] = transpose;
  r["Unsqueeze"] = unsqueeze;
}

}  // namespace sparsebit::frontends
