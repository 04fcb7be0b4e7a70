#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"
#include "fx/ops/onnx_window.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <limits>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

/// How a window slides over the spatial axes, one entry per axis.
struct Geometry {
  Ints kernel, stride, dilation, begin, end, out;

  size_t axes() const { return kernel.size(); }
  int64_t reach(size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
};

Ints positive_ints(const Args& a, const char* name, size_t count) {
  Ints values = a.is_none(name) ? Ints(count, 1) : a.ints(name, count);
  for (const int64_t value : values) {
    SPARSEBIT_CHECK(value > 0 && value < (int64_t{1} << 31), InvalidArgument, name, " contains ",
                    value);
  }
  return values;
}

void read_padding(const Args& a, const Tensor& x, Geometry& g) {
  const int64_t mode = number_of(a, "auto_pad", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"});
  const size_t n = g.axes();
  const Ints pads = a.is_none("pads") ? Ints(2 * n, 0) : a.ints("pads", 2 * n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) + 2);
    if (mode >= 2) {
      const AxisPadding same = same_padding(size, g.reach(i), g.stride[i], mode == 2);
      g.begin[i] = same.begin;
      g.end[i] = same.end;
    } else if (mode == 0) {
      g.begin[i] = pads[i];
      g.end[i] = pads[n + i];
    }
    for (const int64_t amount : {g.begin[i], g.end[i]}) {
      SPARSEBIT_CHECK(std::abs(amount) < (int64_t{1} << 31), InvalidArgument, "pads contains ",
                      amount);
    }
  }
}

Geometry read_geometry(const Args& a, const Tensor& x) {
  SPARSEBIT_CHECK(x.dim() >= 3, InvalidArgument, "expected 3 or more axes, got ", x.dim());
  const auto n = static_cast<size_t>(x.dim() - 2);
  Geometry g{positive_ints(a, "kernel_shape", n),
             positive_ints(a, "strides", n),
             positive_ints(a, "dilations", n),
             Ints(n, 0),
             Ints(n, 0),
             Ints(n, 0)};
  read_padding(a, x, g);
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) + 2);
    const int64_t room = size + g.begin[i] + g.end[i] - g.reach(i);
    SPARSEBIT_CHECK(room >= 0, InvalidArgument, "a window of ", g.reach(i),
                    " does not fit into an axis of ", size, " with its padding");
    const bool round_up = a.flag("ceil_mode");
    g.out[i] = (round_up ? room + g.stride[i] - 1 : room) / g.stride[i] + 1;
    // the last window starts on the input or on the padding before it
    if (round_up && (g.out[i] - 1) * g.stride[i] >= size + g.begin[i]) --g.out[i];
  }
  return g;
}

/// All windows of `x`: [batch, channels, out..., kernel...]. Only a view of the padded input.
Tensor windows(const Tensor& x, const Geometry& g, const at::Scalar& fill) {
  Ints pads;  // from the last axis
  for (size_t i = g.axes(); i-- > 0;) {
    const int64_t used = (g.out[i] - 1) * g.stride[i] + g.reach(i);
    pads.push_back(g.begin[i]);
    pads.push_back(used - g.begin[i] - x.size(static_cast<int64_t>(i) + 2));
  }
  Tensor y = at::constant_pad_nd(x, pads, fill);
  for (size_t i = 0; i < g.axes(); ++i) {
    y = y.unfold(static_cast<int64_t>(i) + 2, g.reach(i), g.stride[i]);
    y = y.slice(-1, c10::nullopt, c10::nullopt, g.dilation[i]);
  }
  return y;
}

Ints kernel_dims(const Geometry& g) {
  Ints dims;
  for (size_t i = 0; i < g.axes(); ++i) dims.push_back(static_cast<int64_t>(2 + g.axes() + i));
  return dims;
}

at::Scalar lowest(at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) return -std::numeric_limits<double>::infinity();
  int64_t value = 0;
  AT_DISPATCH_INTEGRAL_TYPES(dtype, "lowest", [&] {
    value = static_cast<int64_t>(std::numeric_limits<scalar_t>::lowest());
  });
  return value;
}

/// Flat positions in the whole input of the elements that were picked from the windows.
/// @param picked  position of the picked element in each window.
Tensor places(const Tensor& x, const Geometry& g, Tensor picked, bool column_major) {
  std::vector<Tensor> coordinates(g.axes());
  for (size_t i = g.axes(); i-- > 0;) {
    Ints shape(static_cast<size_t>(x.dim()), 1);
    shape[i + 2] = g.out[i];
    const Tensor start = at::arange(g.out[i], at::kLong).mul(g.stride[i]).sub(g.begin[i]);
    coordinates[i] = picked.remainder(g.kernel[i]).mul(g.dilation[i]).add(start.view(shape));
    picked = picked.div(g.kernel[i], "floor");
  }
  Tensor place = at::zeros_like(picked);
  int64_t plane = 1;
  for (size_t step = 0; step < g.axes(); ++step) {
    const size_t i = column_major ? g.axes() - 1 - step : step;
    const int64_t size = x.size(static_cast<int64_t>(i) + 2);
    place = place.mul(size).add(coordinates[i]);
    plane *= size;
  }
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return place + at::arange(x.size(0) * x.size(1), at::kLong).mul(plane).view(shape);
}

Value max_pool(const Args& a) {
  const Tensor x = a.tensor("X");
  const Geometry g = read_geometry(a, x);
  const Tensor candidates =
      windows(x, g, lowest(x.scalar_type())).flatten(static_cast<int64_t>(2 + g.axes()));
  const auto [values, picked] = candidates.max(-1);
  return Tuple{values, places(x, g, picked, a.flag("storage_order"))};
}

/// How many elements of each window along axis i lie on the input, or also on its padding.
Tensor count_elements(const Tensor& x, const Geometry& g, size_t i, bool with_padding) {
  const int64_t size = x.size(static_cast<int64_t>(i) + 2);
  const Tensor start = at::arange(g.out[i], at::kLong).mul(g.stride[i]).sub(g.begin[i]);
  const Tensor step = at::arange(g.kernel[i], at::kLong).mul(g.dilation[i]);
  const Tensor place = start.unsqueeze(1).add(step);
  const int64_t low = with_padding ? -g.begin[i] : 0, high = with_padding ? size + g.end[i] : size;
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[i + 2] = g.out[i];
  return place.ge(low).logical_and(place.lt(high)).sum(1).view(shape);
}

Value average_pool(const Args& a) {
  const Tensor x = a.tensor("X");
  const Geometry g = read_geometry(a, x);
  Tensor count = at::ones({}, at::kLong);
  for (size_t i = 0; i < g.axes(); ++i) {
    count = count * count_elements(x, g, i, a.flag("count_include_pad"));
  }
  const Tensor sum = windows(x, g, 0).sum(kernel_dims(g));
  return sum.div(count.clamp_min(1).to(x.scalar_type()));
}

Value lp_pool(const Args& a) {
  const Tensor x = a.tensor("X");
  const Geometry g = read_geometry(a, x);
  return at::linalg_vector_norm(windows(x, g, 0), a.number("p"), kernel_dims(g));
}

Ints spatial_dims(const Tensor& x) {
  SPARSEBIT_CHECK(x.dim() >= 3, InvalidArgument, "expected 3 or more axes, got ", x.dim());
  Ints dims;
  for (int64_t dim = 2; dim < x.dim(); ++dim) dims.push_back(dim);
  return dims;
}

/// The inverse of MaxPool: `I` has the flat positions of the elements of `X` in an output of the
/// size that the attributes imply; a larger `output_shape` appends zeros.
Value max_unpool(const Args& a) {
  const Tensor x = a.tensor("X"), places = a.tensor("I");
  SPARSEBIT_CHECK(x.dim() >= 3 && places.sizes() == x.sizes(), InvalidArgument,
                  "X and I must have the same shape of 3 or more axes, got ", x.sizes(), " and ",
                  places.sizes());
  const auto n = static_cast<size_t>(x.dim() - 2);
  const Ints kernel = positive_ints(a, "kernel_shape", n), stride = positive_ints(a, "strides", n);
  const Ints pads = a.is_none("pads") ? Ints(2 * n, 0) : a.ints("pads", 2 * n);
  Ints shape = x.sizes().vec();
  for (size_t i = 0; i < n; ++i) {
    shape[i + 2] = (shape[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[n + i];
    SPARSEBIT_CHECK(shape[i + 2] >= 0, InvalidArgument, "pads are larger than axis ", i + 2,
                    " of the output");
  }
  const Tensor flat = at::zeros(shape, x.options()).flatten();
  const Tensor y =
      flat.scatter(0, wrap_indices(places, flat.size(0)).flatten(), x.flatten()).view(shape);
  if (a.is_none("output_shape")) return y;
  const Ints wanted = int_input(a, "output_shape");
  SPARSEBIT_CHECK(wanted.size() == shape.size(), InvalidArgument, "output_shape has ",
                  wanted.size(), " entries, expected ", shape.size());
  Ints amounts;
  for (size_t i = shape.size(); i-- > 0;) {
    amounts.push_back(0);
    amounts.push_back(wanted[i] - shape[i]);
  }
  return at::constant_pad_nd(y, amounts, 0);
}

}  // namespace

void add_onnx_pooling_operators(OperatorTable& table) {
  table.add({.name = "onnx.MaxPool",
             .schema = "X, kernel_shape, auto_pad='NOTSET', ceil_mode=0, dilations=None, "
                       "pads=None, storage_order=0, strides=None",
             .forms = {"onnx.MaxPool"},
             .growth = Growth::Sizes,
             .like = "max_pool2d",
             .kernel = max_pool});
  table.add({.name = "onnx.AveragePool",
             .schema = "X, kernel_shape, auto_pad='NOTSET', ceil_mode=0, count_include_pad=0, "
                       "dilations=None, pads=None, strides=None",
             .forms = {"onnx.AveragePool"},
             .growth = Growth::Sizes,
             .like = "avg_pool2d",
             .kernel = average_pool});
  table.add({.name = "onnx.LpPool",
             .schema = "X, kernel_shape, auto_pad='NOTSET', ceil_mode=0, dilations=None, p=2, "
                       "pads=None, strides=None",
             .forms = {"onnx.LpPool"},
             .growth = Growth::Sizes,
             .kernel = lp_pool});
  table.add({.name = "onnx.GlobalAveragePool",
             .schema = "X",
             .forms = {"onnx.GlobalAveragePool"},
             .like = "adaptive_avg_pool2d",
             .kernel = [](const Args& a) -> Value {
               const Tensor x = a.tensor("X");
               return x.mean(spatial_dims(x), /*keepdim=*/true);
             }});
  table.add({.name = "onnx.GlobalMaxPool",
             .schema = "X",
             .forms = {"onnx.GlobalMaxPool"},
             .kernel = [](const Args& a) -> Value {
               const Tensor x = a.tensor("X");
               return x.amax(spatial_dims(x), /*keepdim=*/true);
             }});
  table.add({.name = "onnx.GlobalLpPool",
             .schema = "X, p=2",
             .forms = {"onnx.GlobalLpPool"},
             .kernel = [](const Args& a) -> Value {
               const Tensor x = a.tensor("X");
               return at::linalg_vector_norm(x, a.number("p"), spatial_dims(x), /*keepdim=*/true);
             }});
  table.add({.name = "onnx.MaxUnpool",
             .schema = "X, I, output_shape=None, kernel_shape=None, pads=None, strides=None",
             .forms = {"onnx.MaxUnpool"},
             .growth = Growth::Sizes,
             .kernel = max_unpool});
}

}  // namespace sparsebit::fx
