#include "export/ops/index.h"

#include "export/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// torch's rule, taken from old numpy: a list index that contains anything but numbers is a tuple.
bool lists_indices(Call& c, const fx::Value& index) {
  if (index.is<fx::Tuple>()) return true;
  if (!index.is<fx::List>()) return false;
  return std::any_of(index.items().begin(), index.items().end(), [&](const fx::Value& item) {
    return !item.is_number() && !(item.is_node() && c.value(item).is_number());
  });
}

at::Tensor list_tensor(const fx::Value& list) {
  std::vector<at::Tensor> rows;
  if (!list.is_sequence())
    return at::scalar_tensor(list.to_scalar(), list.is_bool() ? at::kBool : at::kLong);
  if (list.items().empty()) return at::empty({0}, at::kLong);
  for (const fx::Value& item : list.items()) rows.push_back(list_tensor(item));
  return at::stack(rows);
}

/// Applies the items of an index from left to right; tensor indices are collected and applied last.
class IndexReader {
 public:
  IndexReader(Call& c, const OnnxTensor& x) : c_(c), x_(x) {}

  OnnxTensor read(const fx::Value& index) {
    const std::vector<fx::Value> items =
        lists_indices(c_, index) ? index.items() : std::vector<fx::Value>{index};
    int64_t consumed = 0;
    for (const fx::Value& item : items) consumed += axes_consumed(item);
    for (const fx::Value& item : items) {
      if (item.is<fx::Ellipsis>()) {
        dim_ += original_rank() - consumed;
      } else {
        apply(item);
      }
    }
    return indices_.empty() ? x_ : apply_tensors();
  }

 private:
  int64_t original_rank() const { return x_.rank() + removed_ - added_; }

  NodeResult value(const fx::Value& item) {
    if (item.is_sequence() && !item.contains_node()) return fx::Value(list_tensor(item));
    return c_.value(item);
  }

  /// How many axes of the tensor an index item consumes.
  int64_t axes_consumed(const fx::Value& item) {
    if (item.is_none() || item.is<fx::Ellipsis>() || item.is_bool()) return 0;
    if (item.is_int() || item.is<fx::Slice>()) return 1;
    const NodeResult v = value(item);
    if (v.is_number()) return 1;
    const OnnxTensor sym = c_.sym(v);
    return sym.dtype == at::kBool || sym.dtype == at::kByte ? sym.rank() : 1;
  }

  OnnxTensor bound(const fx::Value& value, int64_t missing) {
    return value.is_none() ? c_.w.ints({missing}) : c_.int_vector(c_.value(value));
  }

  void apply_slice(const fx::Slice& slice) {
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
    const NodeResult step =
        slice.step().is_none() ? NodeResult(fx::Value(1)) : c_.value(slice.step());
    if (!step.is_plain()) c_.unsupported("the step of a slice is not fixed");
    const bool whole =
        slice.start().is_none() && slice.stop().is_none() && step.plain.to_int() == 1;
    if (!whole) {
      x_ = c_.w.slice(x_, dim_, bound(slice.start(), 0), bound(slice.stop(), kEnd),
                      step.plain.to_int());
    }
    ++dim_;
  }

  void apply_select(const OnnxTensor& position) {
    x_ = c_.w.gather(x_, position, dim_);
    ++removed_;
  }

  void apply(const fx::Value& item) {
    if (item.is_none() || item.is_bool()) {
      x_ = c_.w.unsqueeze(x_, {dim_});
      ++added_;
      if (item.is_bool() && !item.to_bool()) x_ = c_.w.slice(x_, dim_, 0, 0);
      ++dim_;
    } else if (item.is_int()) {
      apply_select(c_.w.scalar(item.to_int(), at::kLong));
    } else if (item.is<fx::Slice>()) {
      apply_slice(item.get<fx::Slice>());
    } else {
      apply_tensor(value(item));
    }
  }

  void apply_tensor(const NodeResult& v) {
    const OnnxTensor index = c_.sym(v);
    const bool mask = index.dtype == at::kBool || index.dtype == at::kByte;
    if (!mask && (v.is_number() || index.rank() == 0)) {
      apply_select(c_.w.cast(index, at::kLong));
    } else if (!mask) {
      indices_.push_back(c_.w.cast(index, at::kLong));
      dims_.push_back(dim_++);
    } else if (index.rank() == 0) {
      c_.unsupported("indexing with a bool that the graph computes");
    } else {
      const OnnxTensor positions = c_.w.nonzero(c_.w.cast(index, at::kBool));
      for (int64_t i = 0; i < index.rank(); ++i) {
        indices_.push_back(c_.w.gather(positions, c_.w.scalar(i, at::kLong), 0));
        dims_.push_back(dim_++);
      }
    }
  }

  OnnxTensor apply_tensors() { return index_tensors(c_, x_, indices_, dims_); }

  Call& c_;
  OnnxTensor x_;
  int64_t dim_ = 0, removed_ = 0, added_ = 0;
  std::vector<OnnxTensor> indices_;
  Ints dims_;
};

/// Indices of one shape, stacked along a new last axis.
OnnxTensor stacked(Call& c, const std::vector<OnnxTensor>& indices) {
  GraphWriter& w = c.w;
  std::optional<Shape> common = Shape{};
  for (const OnnxTensor& index : indices) common = broadcast(common, index.shape);
  const bool equal = std::all_of(indices.begin(), indices.end(), [&](const OnnxTensor& index) {
    return index.shape == common && (index.fixed() || index.rank() == 1);
  });
  OnnxTensor shape;
  if (!equal) {
    OnnxTensor sum = indices[0];
    for (size_t i = 1; i < indices.size(); ++i) sum = w.add(sum, indices[i]);
    sum.shape = common;
    shape = w.shape_of(sum);
  }
  std::vector<OnnxTensor> columns;
  for (const OnnxTensor& index : indices) {
    OnnxTensor column = equal ? index : w.expand(index, shape);
    column.shape = common;
    columns.push_back(w.unsqueeze(column, {-1}));
  }
  return w.concat(columns, -1);
}

NodeResult getitem(Call& c) {
  const NodeResult object = c.val("input");
  const fx::Value& index = c.args()["index"];
  if (holds_tensor(object)) return read_index(c, c.sym(object), index);
  if (object.is_sequence()) {
    if (index.is<fx::Slice>()) {
      std::vector<NodeResult> picked;
      const auto count = static_cast<int64_t>(object.items.size());
      at::Tensor positions = at::arange(count);
      const fx::Slice& s = index.get<fx::Slice>();
      const auto bound = [&](const fx::Value& v, int64_t missing) {
        return v.is_none() ? missing : v.to_int();
      };
      const int64_t step = bound(s.step(), 1);
      if (step < 1) c.unsupported("a slice of a tuple with a negative step");
      positions = at::slice(positions, 0, bound(s.start(), 0), bound(s.stop(), count), step);
      for (int64_t i = 0; i < positions.size(0); ++i)
        picked.push_back(object.items[static_cast<size_t>(positions[i].item<int64_t>())]);
      return NodeResult::sequence(std::move(picked), object.is_list);
    }
    const int64_t i = c.integer("index"), count = static_cast<int64_t>(object.items.size());
    const int64_t position = i < 0 ? i + count : i;
    if (position < 0 || position >= count) c.unsupported("the tuple index is out of range");
    return object.items[static_cast<size_t>(position)];
  }
  c.unsupported("the item of " + fx::describe(object.plain) + " depends on a computed index");
}

}  // namespace

OnnxTensor read_index(Call& c, const OnnxTensor& x, const fx::Value& index) {
  return IndexReader(c, x).read(index);
}

OnnxTensor index_tensors(Call& c, const OnnxTensor& given, const std::vector<OnnxTensor>& indices,
                         const Ints& dims) {
  GraphWriter& w = c.w;
  if (indices.size() == 1) return w.gather(given, indices[0], dims[0]);
  // GatherND needs the indexed axes first.
  Ints order = dims;
  for (int64_t i = 0; i < given.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) order.push_back(i);
  }
  const OnnxTensor index = stacked(c, indices);
  const OnnxTensor found = w.gather_nd(w.transpose(given, order), index);
  const bool adjacent = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  if (!adjacent || dims.front() == 0) return found;
  // The result axes of adjacent indices replace the first of them.
  const int64_t added = index.rank() - 1;
  Ints back;
  for (int64_t i = 0; i < dims.front(); ++i) back.push_back(added + i);
  for (int64_t i = 0; i < added; ++i) back.push_back(i);
  for (int64_t i = added + dims.front(); i < found.rank(); ++i) back.push_back(i);
  return w.transpose(found, back);
}

OnnxTensor flat_positions(Call& c, const OnnxTensor& x) {
  GraphWriter& w = c.w;
  if (x.fixed()) {
    const int64_t count = c10::multiply_integers(*x.shape);
    return w.constant(at::arange(count, at::kLong).reshape(*x.shape));
  }
  const OnnxTensor count = w.numel_of(x);
  const OnnxTensor line = w.range(w.scalar(0, at::kLong), count, w.scalar(1, at::kLong));
  OnnxTensor positions = w.reshape(line, w.shape_of(x));
  positions.shape = x.shape;
  return positions;
}

OnnxTensor write_positions(Call& c, const OnnxTensor& x, const OnnxTensor& positions,
                           const OnnxTensor& values, const std::string& reduction) {
  GraphWriter& w = c.w;
  const OnnxTensor flat = w.reshape(x, Shape{-1});
  const OnnxTensor spread = values.shape && values.shape == positions.shape && values.fixed()
                                ? values
                                : w.expand(values, w.shape_of(positions));
  const OnnxTensor written = w.scatter_nd(flat, w.reshape(positions, Shape{-1, 1}),
                                          w.reshape(spread, Shape{-1}), reduction);
  OnnxTensor y = w.reshape(written, w.shape_of(x));
  y.shape = x.shape;
  return y;
}

OnnxTensor write_index(Call& c, const OnnxTensor& x, const fx::Value& index,
                       const NodeResult& value) {
  if (index.is<fx::Ellipsis>() && value.is_plain() && value.plain.is_number())
    return c.w.expand(c.w.scalar(value.plain.to_scalar(), x.dtype), c.w.shape_of(x));
  OnnxTensor content = c.operand(value, x.dtype);
  const OnnxTensor positions = read_index(c, flat_positions(c, x), index);
  // torch drops leading 1s of a value with more dimensions than the target.
  if (content.shape && positions.shape && content.rank() > positions.rank()) {
    Ints axes(static_cast<size_t>(content.rank() - positions.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    content = c.w.squeeze(content, axes);
  }
  return write_positions(c, x, positions, content);
}

std::optional<OnnxTensor> undo_view(Call& view, const std::string& name,
                                    const OnnxTensor& content) {
  GraphWriter& w = view.w;
  if (!holds_tensor(view.val("input"))) return std::nullopt;
  const OnnxTensor base = view.tensor("input");
  for (const char* reshaping : {"view", "reshape", "view_as", "reshape_as", "flatten", "unflatten",
                                "ravel", "squeeze", "unsqueeze"}) {
    if (name == reshaping) {
      OnnxTensor y = w.reshape(content, w.shape_of(base));
      y.shape = base.shape;
      return y;
    }
  }
  if (name == "getitem") return write_index(view, base, view.args()["index"], content);
  if (name == "transpose") return w.swap(content, view.integer("dim0"), view.integer("dim1"));
  if (name == "t") return content.rank() < 2 ? content : w.swap(content, 0, 1);
  if (name == "select" || name == "narrow") {
    std::vector<fx::Value> items(static_cast<size_t>(base.axis(view.integer("dim"))), fx::Slice());
    if (name == "select") {
      items.emplace_back(view.args()["index"]);
    } else {
      const int64_t start = view.integer("start");
      items.emplace_back(fx::Slice(start, start + view.integer("length")));
    }
    return write_index(view, base, fx::Tuple(std::move(items)), content);
  }
  if (name != "permute") return std::nullopt;
  const Ints order = view.ints("dims");
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(base.axis(order[i]))] = static_cast<int64_t>(i);
  return w.transpose(content, back);
}

void add_getitem_converters(Converters& table) {
  table.add("getitem", getitem);
  table.add("setitem", [](Call& c) -> NodeResult {
    return write_index(c, c.tensor("input"), c.args()["index"], c.val("value"));
  });
}

}  // namespace sparsebit::exports
