#include "export/writer.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace sparsebit::exports {
namespace {

void require_opset(int64_t found, int64_t needed, const char* what) {
  SPARSEBIT_CHECK(found >= needed, Unsupported, what, " needs opset ", needed,
                  " or newer, the export is for opset ", found);
}

/// The first opset in which a reduction takes its axes as an input.
int64_t axes_became_input(const std::string& type) { return type == "ReduceSum" ? 13 : 18; }

}  // namespace

OnnxTensor GraphWriter::gather(const OnnxTensor& x, const OnnxTensor& index, int64_t axis) {
  std::optional<Shape> shape;
  if (x.shape && index.shape) {
    axis = x.axis(axis);
    shape = x.shape;
    shape->erase(shape->begin() + axis);
    shape->insert(shape->begin() + axis, index.shape->begin(), index.shape->end());
  }
  return op("Gather", {x, index}, {{"axis", axis}}, x.dtype, shape);
}

OnnxTensor GraphWriter::gather_elements(const OnnxTensor& x, const OnnxTensor& index,
                                        int64_t axis) {
  return op("GatherElements", {x, index}, {{"axis", x.axis(axis)}}, x.dtype, index.shape);
}

OnnxTensor GraphWriter::gather_nd(const OnnxTensor& x, const OnnxTensor& index) {
  std::optional<Shape> shape;
  if (x.shape && index.shape && index.size(-1) >= 0) {
    shape = Shape(index.shape->begin(), index.shape->end() - 1);
    shape->insert(shape->end(), x.shape->begin() + index.size(-1), x.shape->end());
  }
  return op("GatherND", {x, index}, {}, x.dtype, shape);
}

OnnxTensor GraphWriter::scatter_nd(const OnnxTensor& x, const OnnxTensor& index,
                                   const OnnxTensor& updates, const std::string& reduction) {
  Attrs attrs;
  if (reduction != "none") {
    require_opset(opset_, 16, "adding at repeated positions");
    attrs.emplace_back("reduction", reduction.c_str());
  }
  return op("ScatterND", {x, index, updates}, attrs, x.dtype, x.shape);
}

OnnxTensor GraphWriter::scatter_elements(const OnnxTensor& x, const OnnxTensor& index,
                                         const OnnxTensor& updates, int64_t axis,
                                         const std::string& reduction) {
  Attrs attrs = {{"axis", x.axis(axis)}};
  if (reduction != "none") {
    require_opset(opset_, 16, "adding at repeated positions");
    attrs.emplace_back("reduction", reduction.c_str());
  }
  return op("ScatterElements", {x, index, updates}, attrs, x.dtype, x.shape);
}

OnnxTensor GraphWriter::nonzero(const OnnxTensor& x) {
  return op("NonZero", {x}, {}, at::kLong, Shape{std::max<int64_t>(x.rank(), 1), -1});
}

std::optional<Shape> GraphWriter::reduced_shape(const OnnxTensor& x,
                                                const std::vector<int64_t>& axes,
                                                bool keepdim) const {
  if (!x.shape) return std::nullopt;
  Shape shape;
  for (size_t i = 0; i < x.shape->size(); ++i) {
    const bool reduced =
        axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) shape.push_back((*x.shape)[i]);
    if (reduced && keepdim) shape.push_back(1);
  }
  return shape;
}

OnnxTensor GraphWriter::reduce(const std::string& type, const OnnxTensor& x,
                               std::vector<int64_t> axes, bool keepdim) {
  for (int64_t& axis : axes) axis = x.axis(axis);
  if (x.shape && x.shape->empty()) axes.clear();
  Attrs attrs = {{"keepdims", keepdim}};
  std::vector<OnnxTensor> inputs = {x};
  if (!axes.empty() && opset_ >= axes_became_input(type)) inputs.push_back(ints(axes));
  if (!axes.empty() && opset_ < axes_became_input(type)) attrs.emplace_back("axes", axes);
  return op(type, inputs, attrs, x.dtype, reduced_shape(x, axes, keepdim));
}

OnnxTensor GraphWriter::argument(const std::string& type, const OnnxTensor& x, int64_t axis,
                                 bool keepdim) {
  axis = x.axis(axis);
  return op(type, {x}, {{"axis", axis}, {"keepdims", keepdim}}, at::kLong,
            reduced_shape(x, {axis}, keepdim));
}

/// Before opset 13, Softmax and LogSoftmax normalized over all axes from `axis` on. Along the last
/// axis there is no difference.
OnnxTensor GraphWriter::softmax(const std::string& type, const OnnxTensor& x, int64_t axis) {
  axis = x.axis(axis);
  if (x.rank() == 0) return squeeze(softmax(type, unsqueeze(x, {0}), 0), {0});
  if (opset_ >= 13 || axis == x.rank() - 1) return unary(type, x, {{"axis", axis}});
  return swap(unary(type, swap(x, axis, -1), {{"axis", x.rank() - 1}}), axis, -1);
}

OnnxTensor GraphWriter::matmul(const OnnxTensor& a, const OnnxTensor& b) {
  std::optional<Shape> shape;
  if (a.shape && b.shape && a.rank() >= 1 && b.rank() >= 1) {
    Shape left(a.shape->begin(), a.shape->end() - std::min<int64_t>(2, a.rank()));
    Shape right(b.shape->begin(), b.shape->end() - std::min<int64_t>(2, b.rank()));
    shape = broadcast(left, right);
    if (a.rank() > 1) shape->push_back(a.size(-2));
    if (b.rank() > 1) shape->push_back(b.size(-1));
  }
  return op("MatMul", {a, b}, {}, a.dtype, shape);
}

OnnxTensor GraphWriter::cumsum(const OnnxTensor& x, int64_t axis) {
  return op("CumSum", {x, scalar(x.axis(axis), at::kLong)}, {}, x.dtype, x.shape);
}

std::vector<OnnxTensor> GraphWriter::topk(const OnnxTensor& x, const OnnxTensor& count,
                                          int64_t axis, bool largest) {
  axis = x.axis(axis);
  std::vector<OnnxTensor> found =
      emit("TopK", {x, count}, {{"axis", axis}, {"largest", largest}, {"sorted", 1}}, 2);
  Shape shape = *x.shape;
  shape[static_cast<size_t>(axis)] =
      count.constant.defined() ? count.constant.item<int64_t>() : int64_t{-1};
  found[0].dtype = x.dtype;
  found[1].dtype = at::kLong;
  found[0].shape = found[1].shape = shape;
  return found;
}

OnnxTensor GraphWriter::range(const OnnxTensor& start, const OnnxTensor& limit,
                              const OnnxTensor& step) {
  return op("Range", {start, limit, step}, {}, start.dtype, Shape{-1});
}

OnnxTensor GraphWriter::filled(const OnnxTensor& shape, const at::Scalar& value,
                               at::ScalarType dtype) {
  std::optional<Shape> sizes;
  if (shape.constant.defined()) {
    const at::Tensor flat = shape.constant;
    sizes = Shape(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
  } else if (shape.shape && shape.size(0) >= 0) {
    sizes = Shape(static_cast<size_t>(shape.size(0)), -1);
  }
  return op("ConstantOfShape", {shape}, {{"value", at::full({1}, value, dtype)}}, dtype, sizes);
}

}  // namespace sparsebit::exports
