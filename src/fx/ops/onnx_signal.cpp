#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_dtype.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <cmath>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

/// The last axis in ONNX holds a real number, or real and imaginary part of a complex one.
Tensor to_signal(const Tensor& x) {
  SPARSEBIT_CHECK(x.dim() >= 2 && (x.size(-1) == 1 || x.size(-1) == 2), InvalidArgument,
                  "the last axis of a signal must hold 1 or 2 numbers, got shape ", x.sizes());
  return x.size(-1) == 1 ? x.squeeze(-1) : at::view_as_complex(x.contiguous());
}

/// In double precision, as ONNX's reference has it: elements that cancel out should be zero.
Value dft(const Args& a) {
  const Tensor given = a.tensor("input"), x = to_signal(given.to(at::kDouble));
  const int64_t axis = at::maybe_wrap_dim(a.is_none("axis") ? -2 : a["axis"].to_int(), given.dim());
  SPARSEBIT_CHECK(axis < x.dim(), InvalidArgument, "axis ", axis,
                  " holds real and imaginary parts");
  c10::optional<int64_t> length;
  if (!a.is_none("dft_length")) length = a["dft_length"].to_int();
  const bool onesided = a.flag("onesided"), inverse = a.flag("inverse");
  SPARSEBIT_CHECK(!onesided || (!inverse && !x.is_complex()), InvalidArgument,
                  "onesided needs real numbers and inverse=0");
  const Tensor y = inverse    ? at::fft_ifft(x, length, axis)
                   : onesided ? at::fft_rfft(x, length, axis)
                              : at::fft_fft(x, length, axis);
  return at::view_as_real(y).to(given.scalar_type());
}

/// Spectra of overlapping frames: [batch, frames, frequencies, 2].
Value stft(const Args& a) {
  const Tensor x = to_signal(a.tensor("signal"));
  const int64_t step = a["frame_step"].to_int();
  const c10::optional<Tensor> window = a.optional_tensor("window");
  SPARSEBIT_CHECK(window || !a.is_none("frame_length"), InvalidArgument,
                  "neither window nor frame_length is given");
  const int64_t length = a.is_none("frame_length") ? window->numel() : a["frame_length"].to_int();
  SPARSEBIT_CHECK(x.dim() == 2 && step > 0 && length > 0 && length <= x.size(1), InvalidArgument,
                  "frame_length ", length, " and frame_step ", step,
                  " do not fit a signal of shape ", x.sizes());
  SPARSEBIT_CHECK(!window || window->sizes() == at::IntArrayRef({length}), InvalidArgument,
                  "window has shape ", window->sizes(), ", expected [", length, "]");
  Tensor frames = x.unfold(1, length, step);
  if (window) frames = frames.mul(*window);
  const bool onesided = a.flag("onesided");
  SPARSEBIT_CHECK(!onesided || !x.is_complex(), InvalidArgument, "onesided needs real numbers");
  return at::view_as_real(onesided ? at::fft_rfft(frames) : at::fft_fft(frames));
}

/// Frequencies, in bins of the spectrum, at which the triangles of the mel scale start and end.
Ints mel_edges(int64_t bins, int64_t dft_length, int64_t rate, double low, double high) {
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = to_mel(low);
  const double step = (to_mel(high) - first) / static_cast<double>(bins + 2);
  Ints edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double mel = static_cast<double>(i) * step + first;
    const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
    const double place =
        std::floor(static_cast<double>(dft_length + 1) * hertz / static_cast<double>(rate));
    edges.push_back(static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(dft_length))));
  }
  return edges;
}

/// A triangle from 0 at `low` over 1 at `middle` to 0 at `high`.
void draw_triangle(at::TensorAccessor<double, 2> matrix, int64_t column, int64_t low,
                   int64_t middle, int64_t high) {
  const int64_t rows = matrix.size(0);
  const auto ratio = [](int64_t x, int64_t y) {
    return static_cast<double>(x) / static_cast<double>(y);
  };
  if (low == middle && middle < rows) matrix[middle][column] = 1;
  for (int64_t j = low; j <= std::min(middle, rows - 1) && low < middle; ++j) {
    matrix[j][column] = ratio(j - low, middle - low);
  }
  for (int64_t j = middle; j < std::min(high, rows); ++j) {
    matrix[j][column] = ratio(high - j, high - middle);
  }
}

Value mel_weight_matrix(const Args& a) {
  const int64_t bins = a["num_mel_bins"].to_int(), length = a["dft_length"].to_int();
  const int64_t rate = a["sample_rate"].to_int();
  const double low = a["lower_edge_hertz"].to_double(), high = a["upper_edge_hertz"].to_double();
  SPARSEBIT_CHECK(bins > 0 && bins < 65536 && length > 0 && length < (1 << 24) && rate > 0,
                  InvalidArgument, "num_mel_bins, dft_length or sample_rate is out of range");
  SPARSEBIT_CHECK(low >= 0 && low < high && std::isfinite(high), InvalidArgument,
                  "the edges in hertz must be 0 <= lower < upper, got ", low, " and ", high);
  const Ints edges = mel_edges(bins, length, rate, low, high);
  const Tensor matrix = at::zeros({length / 2 + 1, bins}, at::kDouble);
  for (int64_t i = 0; i < bins; ++i) {
    const auto at_edge = edges.begin() + i;
    draw_triangle(matrix.accessor<double, 2>(), i, at_edge[0], at_edge[1], at_edge[2]);
  }
  return matrix.to(onnx_dtype(a, "output_datatype"));
}

}  // namespace

void add_onnx_signal_operators(OperatorTable& table) {
  table.add({.name = "onnx.DFT",
             .schema = "input, dft_length=None, axis=None, inverse=0, onesided=0",
             .forms = {"onnx.DFT"},
             .growth = Growth::Sizes,
             .kernel = dft});
  table.add({.name = "onnx.STFT",
             .schema = "signal, frame_step, window=None, frame_length=None, onesided=1",
             .forms = {"onnx.STFT"},
             .growth = Growth::Sizes,
             .kernel = stft});
  table.add({.name = "onnx.MelWeightMatrix",
             .schema = "num_mel_bins, dft_length, sample_rate, lower_edge_hertz, "
                       "upper_edge_hertz, output_datatype=1",
             .forms = {"onnx.MelWeightMatrix"},
             .growth = Growth::Sizes,
             .kernel = mel_weight_matrix});
}

}  // namespace sparsebit::fx
