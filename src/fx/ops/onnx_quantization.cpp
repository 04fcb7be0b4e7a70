#include "fx/ops/onnx_quantization.h"
#include "fx/ops/families.h"
#include "fx/ops/onnx_dtype.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <limits>

namespace sparsebit::fx {

using at::Tensor;

Tensor saturated(const Tensor& x, at::ScalarType dtype) {
  const auto clamped = [&](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    return x.clamp(Limits::min(), Limits::max()).to(dtype);
  };
  switch (dtype) {
    case at::kByte:
      return clamped(uint8_t{});
    case at::kChar:
      return clamped(int8_t{});
    case at::kShort:
      return clamped(int16_t{});
    default:
      throw Error(ErrorKind::InvalidArgument,
                  c10::str("cannot quantize to ", dtype_name(dtype), ", only to 8 and 16 bits"));
  }
}

Tensor along_axis(const Tensor& values, const Tensor& x, int64_t axis, const char* name) {
  if (values.numel() == 1) return values.reshape({});
  SPARSEBIT_CHECK(values.dim() == 1, InvalidArgument, name, " has ", values.dim(),
                  " axes, expected at most 1");
  const int64_t dim = at::maybe_wrap_dim(axis, x.dim());
  SPARSEBIT_CHECK(values.numel() == x.size(dim), InvalidArgument, name, " has ", values.numel(),
                  " elements, but axis ", dim, " of the input has ", x.size(dim));
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(dim)] = values.numel();
  return values.reshape(shape);
}

namespace {

/// One value for each `block` elements along an axis, repeated for every element.
Tensor along_blocks(const Tensor& values, const Tensor& x, int64_t axis, int64_t block,
                    const char* name) {
  SPARSEBIT_CHECK(values.dim() == x.dim() && block > 0, InvalidArgument, name, " has ",
                  values.dim(), " axes and block_size is ", block,
                  "; expected as many axes as the input, ", x.dim(), ", and a positive block_size");
  const int64_t dim = at::maybe_wrap_dim(axis, x.dim());
  const int64_t size = x.size(dim), count = values.size(dim);
  // count * block >= size without overflow
  SPARSEBIT_CHECK(
      count > 0 && (size + count - 1) / count <= block && block <= std::max(size, int64_t{1}),
      InvalidArgument, name, " has ", count, " blocks of ", block, " along an axis of size ", size);
  const Tensor index = at::arange(size, at::kLong).div(block, "floor");
  return values.index_select(dim, index);
}

/// A scale or zero point in a shape that broadcasts with the input.
Tensor spread(const Args& a, const Tensor& x, const char* name) {
  const int64_t axis = a.integer("axis"), block = a.integer("block_size");
  const Tensor values = a.tensor(name);
  if (block != 0) return along_blocks(values, x, axis, block, name);
  return along_axis(values, x, axis, name);
}

at::ScalarType quantized_dtype(const Args& a) {
  if (!a.is_none("y_zero_point")) return a.tensor("y_zero_point").scalar_type();
  return a.integer("output_dtype") == 0 ? at::kByte : onnx_dtype(a, "output_dtype");
}

/// saturate(round_to_even(x / scale) + zero_point)
Value quantize_linear(const Args& a) {
  const Tensor x = a.tensor("x");
  const bool narrow = x.scalar_type() != at::kDouble;
  const Tensor values = narrow ? x.to(at::kFloat) : x;
  Tensor y = at::round(values / spread(a, x, "y_scale").to(values.scalar_type()));
  if (!a.is_none("y_zero_point")) y = y + spread(a, x, "y_zero_point").to(y.scalar_type());
  return saturated(y, quantized_dtype(a));
}

/// (x - zero_point) * scale. The difference is exact: in floats for 8 and 16 bits, else in int64.
Value dequantize_linear(const Args& a) {
  const Tensor x = a.tensor("x"), scale = spread(a, x, "x_scale");
  const at::ScalarType dtype = scale.scalar_type();
  SPARSEBIT_CHECK(at::isFloatingType(dtype), InvalidArgument, "x_scale must be floating, got ",
                  dtype_name(dtype));
  const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  const bool is_exact = x.element_size() <= 2;
  Tensor y = x.to(is_exact ? wide : at::kLong);
  if (!a.is_none("x_zero_point")) y = y - spread(a, x, "x_zero_point").to(y.scalar_type());
  return (y.to(wide) * scale.to(wide)).to(dtype);
}

/// uint8, with the range of the input, widened to contain zero: (y, scale, zero_point).
Value dynamic_quantize_linear(const Args& a) {
  const Tensor x = a.tensor("x").to(at::kFloat);
  SPARSEBIT_CHECK(x.numel() > 0, InvalidArgument, "the input must not be empty");
  const Tensor low = x.min().clamp_max(0), high = x.max().clamp_min(0);
  const Tensor range = (high - low) / 255;
  const Tensor scale = at::where(range == 0, at::ones_like(range), range);
  const Tensor zero = at::round((-low / scale).clamp(0, 255));
  const Tensor y = at::round(x / scale) + zero;
  return Tuple{saturated(y, at::kByte), scale, zero.to(at::kByte)};
}

}  // namespace

void add_onnx_quantization_operators(OperatorTable& table) {
  table.add({.name = "onnx.QuantizeLinear",
             .schema = "x, y_scale, y_zero_point=None, axis=1, block_size=0, output_dtype=0, "
                       "saturate=1",
             .forms = {"onnx.QuantizeLinear"},
             .kernel = quantize_linear});
  table.add({.name = "onnx.DequantizeLinear",
             .schema = "x, x_scale, x_zero_point=None, axis=1, block_size=0",
             .forms = {"onnx.DequantizeLinear"},
             .kernel = dequantize_linear});
  table.add({.name = "onnx.DynamicQuantizeLinear",
             .schema = "x",
             .forms = {"onnx.DynamicQuantizeLinear"},
             .kernel = dynamic_quantize_linear});
}

}  // namespace sparsebit::fx
