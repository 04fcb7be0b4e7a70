#include "export/onnx_values.h"

#include "sparsebit/core/error.h"

#include <algorithm>

namespace sparsebit::exports {

bool OnnxTensor::fixed() const {
  return shape && std::find(shape->begin(), shape->end(), -1) == shape->end();
}

int64_t OnnxTensor::rank() const {
  SPARSEBIT_CHECK(shape, Unsupported, "the rank of '", name,
                  "' is not known; record shapes or give example inputs");
  return static_cast<int64_t>(shape->size());
}

int64_t OnnxTensor::axis(int64_t dim) const {
  const int64_t count = rank(), wrapped = dim < 0 ? dim + count : dim;
  const bool scalar = count == 0 && (dim == 0 || dim == -1);
  SPARSEBIT_CHECK(scalar || (wrapped >= 0 && wrapped < count), InvalidModel, "dimension ", dim,
                  " is out of range for '", name, "' of rank ", count);
  return scalar ? 0 : wrapped;
}

int64_t OnnxTensor::size(int64_t dim) const {
  const int64_t at = axis(dim);  // checks the rank
  return shape->at(static_cast<size_t>(at));
}

NodeResult::NodeResult(OnnxTensor sym)
    : kind(Kind::Tensor), cell(std::make_shared<Cell>(Cell{std::move(sym)})) {}

NodeResult NodeResult::number(OnnxTensor sym) {
  NodeResult v(std::move(sym));
  v.kind = Kind::Number;
  return v;
}

NodeResult NodeResult::sequence(std::vector<NodeResult> items, bool is_list) {
  NodeResult v;
  const bool plain =
      std::all_of(items.begin(), items.end(), [](const NodeResult& x) { return x.is_plain(); });
  if (plain) {
    std::vector<fx::Value> values;
    for (NodeResult& item : items) values.push_back(std::move(item.plain));
    v.plain =
        is_list ? fx::Value(fx::List(std::move(values))) : fx::Value(fx::Tuple(std::move(values)));
    return v;
  }
  v.kind = Kind::Sequence;
  v.items = std::move(items);
  v.is_list = is_list;
  return v;
}

std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  const Shape &longer = a->size() >= b->size() ? *a : *b,
              &shorter = a->size() >= b->size() ? *b : *a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[offset + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size == 1) size = shorter[i];
    if (size == -1 && shorter[i] > 1) size = shorter[i];  // must match, or be 1
  }
  return result;
}

}  // namespace sparsebit::exports
