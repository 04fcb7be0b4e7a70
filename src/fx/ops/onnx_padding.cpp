#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

enum class Mode { Constant, Reflect, Edge, Wrap };

/// The source index of each position of the padded axis. Amounts may be negative.
Tensor padded_places(int64_t size, int64_t begin, int64_t end, Mode mode) {
  const Tensor place = at::arange(-begin, size + end, at::kLong);
  if (mode == Mode::Edge) return place.clamp(0, size - 1);
  if (mode == Mode::Wrap) return place.remainder(size);
  const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
  const Tensor folded = place.remainder(period);
  return at::minimum(folded, period - folded).clamp(0, size - 1);
}

/// Padding before and after each axis; 0 for axes that are not in `axes`.
std::pair<Ints, Ints> read_amounts(const Args& a, const Tensor& x) {
  const Ints pads = int_input(a, "pads");
  Ints axes;
  for (int64_t i = 0; i < x.dim(); ++i) axes.push_back(i);
  if (!a.is_none("axes")) axes = wrap_axes(int_input(a, "axes"), x.dim());
  SPARSEBIT_CHECK(pads.size() == 2 * axes.size(), InvalidArgument, "pads has ", pads.size(),
                  " entries for ", axes.size(), " axes");
  const auto rank = static_cast<size_t>(x.dim());
  Ints begin(rank, 0), end(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    begin[static_cast<size_t>(axes[i])] = pads[i];
    end[static_cast<size_t>(axes[i])] = pads[axes.size() + i];
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i));
    const bool fits = std::max(std::abs(begin[i]), std::abs(end[i])) < (int64_t{1} << 40) &&
                      size + begin[i] + end[i] >= 0;
    SPARSEBIT_CHECK(fits, InvalidArgument, "axis ", i, " of size ", size, " cannot be padded by ",
                    begin[i], " and ", end[i]);
  }
  return {begin, end};
}

Tensor pad_constant(const Args& a, const Tensor& x, const Ints& begin, const Ints& end) {
  Ints amounts;  // from the last axis
  for (size_t i = begin.size(); i-- > 0;) {
    amounts.push_back(begin[i]);
    amounts.push_back(end[i]);
  }
  const Value& value = a["constant_value"];
  const at::Scalar fill = value.is_none() ? at::Scalar(0) : value.to_scalar();
  return at::constant_pad_nd(x, amounts, fill);
}

Value pad(const Args& a) {
  Tensor x = a.tensor("data");
  const Mode mode{static_cast<int>(number_of(a, "mode", {"constant", "reflect", "edge", "wrap"}))};
  const auto [begin, end] = read_amounts(a, x);
  if (mode == Mode::Constant) return pad_constant(a, x, begin, end);
  for (int64_t axis = 0; axis < x.dim(); ++axis) {
    const int64_t before = begin[static_cast<size_t>(axis)], after = end[static_cast<size_t>(axis)];
    if (before == 0 && after == 0) continue;
    SPARSEBIT_CHECK(x.size(axis) > 0, InvalidArgument, "axis ", axis,
                    " is empty; only mode 'constant' can pad it");
    x = x.index_select(axis, padded_places(x.size(axis), before, after, mode));
  }
  return x;
}

/// Crops or pads with zeros on both sides; for an odd amount the larger half is at the end.
Value center_crop_pad(const Args& a) {
  Tensor x = a.tensor("input_data");
  const Ints shape = int_input(a, "shape");
  Ints axes;
  for (int64_t i = 0; i < x.dim(); ++i) axes.push_back(i);
  if (!a.is_none("axes")) axes = wrap_axes(a.ints("axes"), x.dim());
  SPARSEBIT_CHECK(shape.size() == axes.size(), InvalidArgument, "shape has ", shape.size(),
                  " entries for ", axes.size(), " axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = x.size(axes[i]), wanted = shape[i];
    SPARSEBIT_CHECK(wanted >= 0, InvalidArgument, "shape must not be negative, got ", wanted);
    if (wanted <= size) {
      x = x.narrow(axes[i], (size - wanted) / 2, wanted);
      continue;
    }
    Ints amounts(static_cast<size_t>(2 * (x.dim() - axes[i])), 0);
    amounts[amounts.size() - 2] = (wanted - size) / 2;
    amounts[amounts.size() - 1] = wanted - size - (wanted - size) / 2;
    x = at::constant_pad_nd(x, amounts, 0);
  }
  return x;
}

}  // namespace

void add_onnx_padding_operators(OperatorTable& table) {
  table.add({.name = "onnx.Pad",
             .schema = "data, pads, constant_value=None, axes=None, mode='constant'",
             .forms = {"onnx.Pad"},
             .growth = Growth::Sizes,
             .kernel = pad});
  table.add({.name = "onnx.CenterCropPad",
             .schema = "input_data, shape, axes=None",
             .forms = {"onnx.CenterCropPad"},
             .view = true,
             .growth = Growth::Sizes,
             .kernel = center_crop_pad});
}

}  // namespace sparsebit::fx
