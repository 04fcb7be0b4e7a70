#include "fx/ops/families.h"
#include "fx/ops/onnx_quantization.h"
#include "fx/ops/onnx_window.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

// Products of integers, computed in double with libtorch's floating-point kernels. Doubles hold
// every sum of fewer than 2^37 products of bytes exactly.

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

/// Products and sums of sizes and numbers below this do not overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

/// The integers of an input minus its zero point, as doubles.
/// @param axis  along which there may be several zero points
Tensor centred(const Args& a, const char* name, const char* zero_point, int64_t axis) {
  const Tensor x = a.tensor(name);
  SPARSEBIT_CHECK(at::isIntegralType(x.scalar_type(), false), InvalidArgument, name,
                  " must be an integer tensor, got ", describe(a[name]));
  if (a.is_none(zero_point)) return x.to(at::kDouble);
  const Tensor zero = a.tensor(zero_point).to(at::kDouble);
  const bool has_own_shape = zero.dim() > 1 && zero.numel() != 1;
  return x.to(at::kDouble) - (has_own_shape ? zero : along_axis(zero, x, axis, zero_point));
}

/// Zero points of a matrix are given per row on the left and per column on the right.
Tensor integer_matmul(const Args& a, const char* left, const char* left_zero, const char* right,
                      const char* right_zero) {
  const bool has_rows = a.tensor(left).dim() > 1;
  return at::matmul(centred(a, left, left_zero, has_rows ? -2 : -1),
                    centred(a, right, right_zero, -1));
}

/// Padding before and after each axis.
struct Padding {
  Ints begin, end;
};

Padding padding_of(const Args& a, const Tensor& x, const Tensor& w, const Ints& strides,
                   const Ints& dilations) {
  const std::string mode = a.text("auto_pad");
  const size_t axes = strides.size();
  Padding padding{Ints(axes, 0), Ints(axes, 0)};
  if (mode == "NOTSET" && !a.is_none("pads")) {
    const Ints pads = a.ints("pads", 2 * axes);
    for (const int64_t pad : pads) {
      SPARSEBIT_CHECK(pad > -kLargest && pad < kLargest, InvalidArgument, "pads contains ", pad);
    }
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
    return {Ints(pads.begin(), middle), Ints(middle, pads.end())};
  }
  if (mode == "NOTSET" || mode == "VALID") return padding;
  SPARSEBIT_CHECK(mode == "SAME_UPPER" || mode == "SAME_LOWER", InvalidArgument,
                  "unknown auto_pad '", mode, "'");
  for (size_t i = 0; i < axes; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t reach = (w.size(dim) - 1) * dilations[i] + 1;
    const AxisPadding same = same_padding(x.size(dim), reach, strides[i], mode == "SAME_UPPER");
    padding.begin[i] = same.begin;
    padding.end[i] = same.end;
  }
  return padding;
}

Ints window_ints(const Args& a, const char* name, size_t axes) {
  const Ints values = a.is_none(name) ? Ints(axes, 1) : a.ints(name, axes);
  for (const int64_t value : values) {
    SPARSEBIT_CHECK(value > 0 && value < kLargest, InvalidArgument, name, " contains ", value);
  }
  return values;
}

/// @param x, w  centred, so that padding is zero
Tensor integer_conv(const Args& a, const Tensor& x, const Tensor& w) {
  SPARSEBIT_CHECK(x.dim() == w.dim() && x.dim() >= 3 && x.dim() <= 5, InvalidArgument,
                  "input and weight must have the same rank of 3 to 5, got ", x.dim(), " and ",
                  w.dim());
  const auto axes = static_cast<size_t>(x.dim() - 2);
  const int64_t groups = a.integer("group");
  SPARSEBIT_CHECK(groups > 0, InvalidArgument, "group must be positive, got ", groups);
  const Ints strides = window_ints(a, "strides", axes),
             dilations = window_ints(a, "dilations", axes);
  const Padding padding = padding_of(a, x, w, strides, dilations);
  Ints amounts;  // libtorch counts from the last axis
  for (size_t i = axes; i-- > 0;) {
    amounts.push_back(padding.begin[i]);
    amounts.push_back(padding.end[i]);
  }
  const Tensor padded = at::constant_pad_nd(x, amounts, 0);
  return at::convolution(padded, w, {}, strides, Ints(axes, 0), dilations, /*transposed=*/false,
                         Ints(axes, 0), groups);
}

Value conv_integer(const Args& a) {
  const Tensor x = centred(a, "x", "x_zero_point", 1);
  return integer_conv(a, x, centred(a, "w", "w_zero_point", 0)).to(at::kInt);
}

/// saturate(round_to_even(product * factor) + zero point). The factor is a float as in ONNX.
Tensor requantized(const Args& a, const Tensor& product, const Tensor& factor) {
  const Tensor zero = a.tensor("y_zero_point");
  SPARSEBIT_CHECK(zero.numel() == 1, InvalidArgument, "y_zero_point has ", zero.numel(),
                  " elements, expected 1");
  const Tensor scaled = at::round(product * factor.to(at::kDouble));
  return saturated(scaled + zero.reshape({}).to(at::kDouble), zero.scalar_type());
}

Tensor single(const Args& a, const char* name) {
  const Tensor value = a.tensor(name);
  SPARSEBIT_CHECK(value.numel() == 1, InvalidArgument, name, " has ", value.numel(),
                  " elements, expected 1");
  return value.reshape({}).to(at::kFloat);
}

Value qlinear_conv(const Args& a) {
  const Tensor w = centred(a, "w", "w_zero_point", 0);
  Tensor sums = integer_conv(a, centred(a, "x", "x_zero_point", 1), w);
  if (!a.is_none("B")) sums = sums + along_axis(a.tensor("B"), sums, 1, "B").to(at::kDouble);
  const Tensor weight_scale = along_axis(a.tensor("w_scale").to(at::kFloat), sums, 1, "w_scale");
  return requantized(a, sums, single(a, "x_scale") * weight_scale / single(a, "y_scale"));
}

Value qlinear_matmul(const Args& a) {
  const Tensor product = integer_matmul(a, "a", "a_zero_point", "b", "b_zero_point");
  const auto scale = [&](const char* name, int64_t axis) {
    const Tensor values = a.tensor(name).to(at::kFloat);
    const bool has_own_shape = values.dim() > 1 && values.numel() != 1;
    return has_own_shape ? values : along_axis(values, product, axis, name);
  };
  const Tensor inputs = scale("a_scale", product.dim() > 1 ? -2 : -1) * scale("b_scale", -1);
  return requantized(a, product, inputs / single(a, "y_scale"));
}

}  // namespace

void add_onnx_integer_operators(OperatorTable& table) {
  table.add({.name = "onnx.ConvInteger",
             .schema = "x, w, x_zero_point=None, w_zero_point=None, auto_pad='NOTSET', "
                       "dilations=None, group=1, kernel_shape=None, pads=None, strides=None",
             .forms = {"onnx.ConvInteger"},
             .growth = Growth::Sizes,
             .kernel = conv_integer});
  table.add({.name = "onnx.MatMulInteger",
             .schema = "A, B, a_zero_point=None, b_zero_point=None",
             .forms = {"onnx.MatMulInteger"},
             .kernel = [](const Args& a) -> Value {
               return integer_matmul(a, "A", "a_zero_point", "B", "b_zero_point").to(at::kInt);
             }});
  table.add({.name = "onnx.QLinearConv",
             .schema = "x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, "
                       "B=None, auto_pad='NOTSET', dilations=None, group=1, kernel_shape=None, "
                       "pads=None, strides=None",
             .forms = {"onnx.QLinearConv"},
             .growth = Growth::Sizes,
             .kernel = qlinear_conv});
  table.add({.name = "onnx.QLinearMatMul",
             .schema = "a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point",
             .forms = {"onnx.QLinearMatMul"},
             .kernel = qlinear_matmul});
}

}  // namespace sparsebit::fx
