#include "sparsebit/quant/kernels/fake_quant.h"

#include "quant/kernels/round_loop.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <vector>

namespace sparsebit::quant {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Elements per task. Fixed, so that sums do not depend on the number of threads.
constexpr int64_t kChunk = 16384;

/// The members of a QuantSpec that the computation needs.
struct Integers {
  explicit Integers(const QuantSpec& spec)
      : qmin(spec.qmin()), qmax(spec.qmax()), channel_axis(spec.channel_axis) {}
  explicit Integers(const std::vector<int64_t>& saved)
      : qmin(saved[0]), qmax(saved[1]), channel_axis(saved[2]) {}
  std::vector<int64_t> saved() const { return {qmin, qmax, channel_axis}; }

  /// The channel axis; the last axis of tensors with fewer axes.
  int64_t axis_in(const Tensor& x) const { return std::min(channel_axis, x.dim() - 1); }

  int64_t qmin, qmax, channel_axis;
};

/// The mapping from the memory of a tensor to its scales.
struct Rows {
  int64_t count;             ///< number of rows: contiguous elements that share a scale
  int64_t size;              ///< elements of a row
  int64_t channels;          ///< number of scales; row r has scale r % channels
  bool interleaved = false;  ///< instead, element i of every row has scale i
};

/// The product of the sizes of x after an axis.
int64_t inner_size(const Tensor& x, int64_t axis) {
  int64_t size = 1;
  for (int64_t i = axis + 1; i < x.dim(); ++i) size *= x.size(i);
  return size;
}

void check_shapes(const Tensor& x, const QParams& qparams, const Integers& integers) {
  const Tensor& scale = qparams.scale;
  SPARSEBIT_CHECK(scale.sizes() == qparams.zero_point.sizes(), InvalidArgument, "scale has shape ",
                  scale.sizes(), ", zero point ", qparams.zero_point.sizes());
  if (scale.dim() == 0) return;
  SPARSEBIT_CHECK(x.dim() > 0 && x.size(integers.axis_in(x)) == scale.size(0), InvalidArgument,
                  "scales for ", scale.size(0), " channels do not fit a tensor ", x.sizes(),
                  " with channels on axis ", integers.channel_axis);
  if (scale.dim() == 1) return;
  SPARSEBIT_CHECK(integers.axis_in(x) == 0 && x.numel() % scale.numel() == 0, InvalidArgument,
                  "groups of shape ", scale.sizes(), " do not divide a tensor ", x.sizes());
}

/// nullopt if the memory is neither contiguous nor channels-last.
std::optional<Rows> rows_of(const Tensor& x, const QParams& qparams, const Integers& integers) {
  const int64_t scales = qparams.scale.numel();
  if (qparams.scale.dim() == 0 && x.is_non_overlapping_and_dense()) return Rows{1, x.numel(), 1};
  if (qparams.scale.dim() == 2)
    return x.is_contiguous() ? std::optional(Rows{scales, x.numel() / scales, scales})
                             : std::nullopt;
  const int64_t axis = qparams.scale.dim() == 0 ? 0 : integers.axis_in(x);
  if (x.is_contiguous()) {
    const int64_t inner = inner_size(x, axis);
    if (inner > 1) return Rows{x.numel() / inner, inner, scales};
    return Rows{x.numel() / scales, scales, scales, true};
  }
  const bool channels_last =
      x.dim() == 4 && axis == 1 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (channels_last) return Rows{x.numel() / scales, scales, scales, true};
  return std::nullopt;
}

/// Scales and bounds as arrays of floats.
struct Grids {
  Grids(const QParams& qparams, const Integers& integers) {
    const Tensor scales = qparams.scale.detach().to(at::kFloat).flatten().contiguous();
    const Tensor zeros = at::round(qparams.zero_point.detach().to(at::kFloat)).flatten();
    const Tensor lows = integers.qmin - zeros, highs = integers.qmax - zeros;
    const auto numbers = [](const Tensor& tensor) {
      const Tensor row = tensor.contiguous();
      return std::vector<float>(row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
    };
    scale = numbers(scales);
    low = numbers(lows);
    high = numbers(highs);
  }
  Grid operator[](int64_t i) const {
    const auto index = static_cast<size_t>(i);
    return {scale[index], low[index], high[index]};
  }

  std::vector<float> scale, low, high;
};

/// Calls `work(row, first, count)` for pieces of rows that are at most kChunk long, in parallel.
template <class Work>
void for_each_piece(const Rows& rows, const Work& work) {
  const int64_t pieces = (rows.size + kChunk - 1) / kChunk;
  const int64_t at_once = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, rows.size));
  at::parallel_for(0, rows.count * pieces, at_once, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kChunk;
      work(i / pieces, first, std::min(kChunk, rows.size - first));
    }
  });
}

Tensor forward_rows(const Tensor& x, const Rows& rows, const Grids& grids) {
  const Tensor result = at::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = result.data_ptr<float>();
  for_each_piece(rows, [&](int64_t row, int64_t first, int64_t count) {
    const int64_t start = row * rows.size + first;
    if (rows.interleaved) {
      round_channels(in + start, out + start, count, &grids.scale[first], &grids.low[first],
                     &grids.high[first]);
    } else {
      round_row(in + start, out + start, count, grids[row % rows.channels]);
    }
  });
  return result;
}

bool is_fast(const Tensor& x) {
  return x.scalar_type() == at::kFloat && x.device().is_cpu() && x.numel() > 0;
}

/// x as [channels, groups, elements] for group scales. Types shorter than float32 become float32.
Tensor as_groups(const Tensor& x, const QParams& qparams) {
  const Tensor exact = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  if (qparams.scale.dim() < 2) return exact;
  return exact.reshape({qparams.scale.size(0), qparams.scale.size(1), -1});
}

/// The parameters in a shape that broadcasts against as_groups(x).
QParams broadcast_to(const Tensor& x, const QParams& qparams, const Integers& integers) {
  if (qparams.scale.dim() == 0) return qparams;
  if (qparams.scale.dim() == 2)
    return {qparams.scale.unsqueeze(2), qparams.zero_point.unsqueeze(2)};
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(integers.axis_in(x))] = -1;
  return {qparams.scale.view(shape), qparams.zero_point.view(shape)};
}

/// q, as floats in the shape of as_groups(x).
Tensor integers_of(const Tensor& x, const QParams& wide, const Integers& integers) {
  return at::clamp(at::round(x / wide.scale) + at::round(wide.zero_point), integers.qmin,
                   integers.qmax);
}

Tensor forward_by_operators(const Tensor& x, const QParams& qparams, const Integers& integers) {
  const QParams wide = broadcast_to(x, qparams, integers);
  const Tensor q = integers_of(as_groups(x, qparams), wide, integers);
  const Tensor result = (q - at::round(wide.zero_point)) * wide.scale;
  return result.reshape(x.sizes()).to(x.scalar_type());
}

Tensor forward(const Tensor& x, const QParams& qparams, const Integers& integers) {
  const std::optional<Rows> rows = is_fast(x) ? rows_of(x, qparams, integers) : std::nullopt;
  if (rows) return forward_rows(x, *rows, Grids(qparams, integers));
  return forward_by_operators(x, qparams, integers);
}

// --- gradients ---------------------------------------------------------------------------------

struct Gradients {
  Tensor x, scale, zero_point;
};

/// Splits sums [2, scales] into the gradients of scales and zero points, in their shapes.
Gradients with_sums(const Tensor& dx, const Tensor& sums, const QParams& qparams) {
  const Tensor shaped = sums.to(at::kFloat);
  return {dx, shaped[0].view(qparams.scale.sizes()), shaped[1].view(qparams.scale.sizes())};
}

/// Sums of pieces are added in the order of the pieces: deterministic for any number of threads.
Gradients backward_rows(const Tensor& x, const Tensor& dy, const QParams& qparams, const Rows& rows,
                        const Grids& grids) {
  const Tensor dx = at::empty_like(x);
  const float *in = x.data_ptr<float>(), *slope = dy.data_ptr<float>();
  float* out = dx.data_ptr<float>();
  const int64_t pieces = (rows.size + kChunk - 1) / kChunk;
  std::vector<RowGradient> sums(static_cast<size_t>(rows.count * pieces));
  for_each_piece(rows, [&](int64_t row, int64_t first, int64_t count) {
    const int64_t start = row * rows.size + first;
    sums[static_cast<size_t>(row * pieces + first / kChunk)] = round_row_backward(
        in + start, slope + start, out + start, count, grids[row % rows.channels]);
  });
  const Tensor totals = at::zeros({2, rows.channels}, at::kDouble);
  at::TensorAccessor<double, 2> total = totals.accessor<double, 2>();
  for (int64_t i = 0; i < rows.count * pieces; ++i) {
    const RowGradient& sum = sums[static_cast<size_t>(i)];
    total[0][i / pieces % rows.channels] += sum.scale;
    total[1][i / pieces % rows.channels] += sum.zero_point;
  }
  return with_sums(dx, totals, qparams);
}

/// The same for interleaved channels: sums over blocks of rows.
Gradients backward_interleaved(const Tensor& x, const Tensor& dy, const QParams& qparams,
                               const Rows& rows, const Grids& grids) {
  const Tensor dx = at::empty_like(x);
  const float *in = x.data_ptr<float>(), *slope = dy.data_ptr<float>();
  float* out = dx.data_ptr<float>();
  const int64_t at_once = std::max<int64_t>(1, kChunk / rows.size);
  const int64_t blocks = (rows.count + at_once - 1) / at_once;
  const Tensor sums = at::zeros({blocks, 2, rows.size}, at::kDouble);
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    const int64_t last_row = std::min(end * at_once, rows.count);
    for (int64_t row = begin * at_once; row < last_row; ++row) {
      const int64_t start = row * rows.size;
      double* sum = sums.data_ptr<double>() + row / at_once * 2 * rows.size;
      round_channels_backward(in + start, slope + start, out + start, rows.size, grids.scale.data(),
                              grids.low.data(), grids.high.data(), sum, sum + rows.size);
    }
  });
  Tensor totals = at::zeros({2, rows.size}, at::kDouble);
  for (int64_t block = 0; block < blocks; ++block) totals += sums[block];
  return with_sums(dx, totals, qparams);
}

/// Sums over all axes that the parameters do not have.
Tensor sum_like(const Tensor& values, const QParams& qparams, const Integers& integers) {
  const Tensor exact = values.to(at::kDouble);
  if (qparams.scale.dim() == 0) return exact.sum().to(at::kFloat);
  if (qparams.scale.dim() == 2) return exact.sum(2).to(at::kFloat);
  const Tensor rows = exact.movedim(integers.axis_in(values), 0).flatten(1);
  return rows.sum(1).to(at::kFloat);
}

Gradients backward_by_operators(const Tensor& x, const Tensor& dy, const QParams& qparams,
                                const Integers& integers) {
  const QParams wide = broadcast_to(x, qparams, integers);
  const Tensor values = as_groups(x, qparams);
  const Tensor slopes = as_groups(dy, qparams);
  const Tensor zero = at::round(wide.zero_point);
  const Tensor v = values / wide.scale, n = at::round(v);
  const Tensor low = integers.qmin - zero, high = integers.qmax - zero;
  const Tensor below = n<low, above = n> high, outside = below.logical_or(above);
  const Tensor for_scale = at::where(below, low, at::where(above, high, n - v)) * slopes;
  const Tensor for_zero = at::where(outside, -wide.scale * slopes, at::zeros_like(slopes));
  return {slopes.masked_fill(outside, 0).reshape(x.sizes()).to(dy.scalar_type()),
          sum_like(for_scale, qparams, integers), sum_like(for_zero, qparams, integers)};
}

Gradients backward(const Tensor& x, const Tensor& dy, const QParams& qparams,
                   const Integers& integers) {
  const bool fast = is_fast(x) && dy.scalar_type() == at::kFloat && dy.strides() == x.strides();
  const std::optional<Rows> rows = fast ? rows_of(x, qparams, integers) : std::nullopt;
  if (!rows) return backward_by_operators(x, dy, qparams, integers);
  const Grids grids(qparams, integers);
  return rows->interleaved ? backward_interleaved(x, dy, qparams, *rows, grids)
                           : backward_rows(x, dy, qparams, *rows, grids);
}

class FakeQuant : public torch::autograd::Function<FakeQuant> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& scale,
                        const Tensor& zero_point, const std::vector<int64_t>& integers) {
    context->save_for_backward({x, scale, zero_point});
    context->saved_data["integers"] = integers;
    return quant::forward(x, {scale, zero_point}, Integers(integers));
  }

  static variable_list backward(AutogradContext* context, const variable_list& dy) {
    const variable_list saved = context->get_saved_variables();
    const Integers integers(context->saved_data["integers"].toIntVector());
    const Gradients gradients = quant::backward(saved[0], dy[0], {saved[1], saved[2]}, integers);
    return {gradients.x, gradients.scale, gradients.zero_point, Tensor()};
  }
};

bool needs_gradients(const Tensor& x, const QParams& qparams) {
  return at::GradMode::is_enabled() &&
         (x.requires_grad() || qparams.scale.requires_grad() || qparams.zero_point.requires_grad());
}

}  // namespace

Tensor fake_quant_reference(const Tensor& x, const QParams& qparams, const QuantSpec& spec) {
  const Integers integers(spec);
  check_shapes(x, qparams, integers);
  return forward_by_operators(x, qparams, integers);
}

Tensor quantize(const Tensor& x, const QParams& qparams, const QuantSpec& spec) {
  const Integers integers(spec);
  check_shapes(x, qparams, integers);
  const QParams wide = broadcast_to(x, qparams, integers);
  const Tensor q = integers_of(as_groups(x, qparams), wide, integers);
  return q.reshape(x.sizes()).to(at::kInt);
}

Tensor fake_quant(const Tensor& x, const QParams& qparams, const QuantSpec& spec) {
  SPARSEBIT_CHECK(x.is_floating_point(), InvalidArgument,
                  "only floating-point tensors can be quantized, found ", x.toString());
  const Integers integers(spec);
  check_shapes(x, qparams, integers);
  if (needs_gradients(x, qparams))
    return FakeQuant::apply(x, qparams.scale, qparams.zero_point, integers.saved());
  return forward(x, qparams, integers);
}

}  // namespace sparsebit::quant
