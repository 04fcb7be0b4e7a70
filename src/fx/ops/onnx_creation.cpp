#include "fx/ops/families.h"
#include "fx/ops/onnx_dtype.h"
#include "fx/ops/onnx_input.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace sparsebit::fx {
namespace {

using at::Tensor;

Value constant_of_shape(const Args& a) {
  const std::vector<int64_t> sizes = int_input(a, "input");
  for (const int64_t size : sizes) {
    SPARSEBIT_CHECK(size >= 0, InvalidArgument, "sizes must not be negative, got ", size);
  }
  if (a.is_none("value")) return at::zeros(sizes);
  const Tensor value = a.tensor("value");
  SPARSEBIT_CHECK(value.numel() == 1, InvalidArgument, "value has ", value.numel(),
                  " elements, expected 1");
  return at::full(sizes, value.item(), value.options());
}

/// A range whose delta points away from the limit is empty in ONNX and an error in torch.
Value range(const Args& a) {
  const at::Scalar start = a.scalar("start"), limit = a.scalar("limit"), delta = a.scalar("delta");
  const at::ScalarType dtype = a["start"].is_tensor()    ? a.tensor("start").scalar_type()
                               : start.isFloatingPoint() ? at::kFloat
                                                         : at::kLong;
  const double step = delta.toDouble(), way = limit.toDouble() - start.toDouble();
  SPARSEBIT_CHECK(step != 0.0 && std::isfinite(step) && std::isfinite(way), InvalidArgument,
                  "invalid range: limit - start is ", way, ", delta is ", step);
  if (way / step <= 0.0) return at::empty({0}, dtype);
  return at::arange(start, limit, delta, dtype);
}

/// offset - a * cos(x) + b * cos(2x), where x runs once around the circle.
Tensor window(const Args& a, double offset, double first, double second) {
  const int64_t size = a.integer("size");
  SPARSEBIT_CHECK(size >= 0, InvalidArgument, "size must not be negative, got ", size);
  const auto period = static_cast<double>(a.flag("periodic") ? size : size - 1);
  const Tensor steps = at::arange(size, at::kDouble);
  const Tensor angle = steps * (period > 0 ? 2.0 * std::numbers::pi / period : 0.0);
  const Tensor values = offset - first * angle.cos() + second * (2 * angle).cos();
  return values.to(onnx_dtype(a, "output_datatype"));
}

void add_windows(OperatorTable& table) {
  constexpr const char* kWindow = "size, output_datatype=1, periodic=1";
  table.add({.name = "onnx.HannWindow",
             .schema = kWindow,
             .forms = {"onnx.HannWindow"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value { return window(a, 0.5, 0.5, 0.0); }});
  table.add(
      {.name = "onnx.HammingWindow",
       .schema = kWindow,
       .forms = {"onnx.HammingWindow"},
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) -> Value { return window(a, 25.0 / 46.0, 21.0 / 46.0, 0.0); }});
  table.add({.name = "onnx.BlackmanWindow",
             .schema = kWindow,
             .forms = {"onnx.BlackmanWindow"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value { return window(a, 0.42, 0.5, 0.08); }});
}

/// The input holds unnormalized log probabilities: [batch, classes].
Value multinomial(const Args& a) {
  const Tensor x = a.tensor("input");
  SPARSEBIT_CHECK(x.dim() == 2, InvalidArgument, "the input has ", x.dim(), " axes, expected 2");
  const int64_t count = a.integer("sample_size");
  const Tensor drawn = at::multinomial(at::softmax(x, -1), count, /*replacement=*/true);
  return drawn.to(onnx_dtype(a, "dtype"));
}

/// Returns the result and the mask of kept elements.
Value dropout(const Args& a) {
  const Tensor x = a.tensor("data");
  const double ratio = a.optional_number("ratio").value_or(0.5);
  const bool training = !a.is_none("training_mode") && a.flag("training_mode");
  SPARSEBIT_CHECK(ratio >= 0.0 && ratio < 1.0, InvalidArgument,
                  "ratio must be at least 0 and less than 1, got ", ratio);
  if (!training || ratio == 0.0) return Tuple{x, at::ones_like(x, at::kBool)};
  const Tensor kept = at::rand(x.sizes()).ge(ratio);
  return Tuple{x * kept / (1.0 - ratio), kept};
}

}  // namespace

void add_onnx_creation_operators(OperatorTable& table) {
  table.add({.name = "onnx.ConstantOfShape",
             .schema = "input, value=None",
             .forms = {"onnx.ConstantOfShape"},
             .growth = Growth::Sizes,
             .kernel = constant_of_shape});
  table.add({.name = "onnx.Range",
             .schema = "start, limit, delta",
             .forms = {"onnx.Range"},
             .growth = Growth::Sizes,
             .kernel = range});
  table.add({.name = "onnx.Multinomial",
             .schema = "input, dtype=6, sample_size=1, seed=None",
             .forms = {"onnx.Multinomial"},
             .random = true,
             .growth = Growth::Sizes,
             .kernel = multinomial});
  table.add({.name = "onnx.Dropout",
             .schema = "data, ratio=None, training_mode=None, seed=None",
             .forms = {"onnx.Dropout"},
             .view = true,  // outside of training
             .random = true,
             .kernel = dropout});
  add_windows(table);
}

}  // namespace sparsebit::fx
