#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include "quant/kernels/onnxruntime_math.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace sparsebit::quant {
namespace {

using fx::Args;
using fx::Value;

bool is_plain(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat && x.device().is_cpu() && x.numel() > 0 &&
         !(at::GradMode::is_enabled() && x.requires_grad());
}

Value usual(const char* spelling, const Args& a) {
  return run_kernel(*fx::operators().get(spelling).op, a);
}

/// Distributes independent rows over threads.
template <class Work>
void for_rows(int64_t rows, int64_t size, const Work& work) {
  constexpr int64_t kNumbersPerTask = 1 << 15;
  at::parallel_for(0, rows, std::max<int64_t>(1, kNumbersPerTask / size),
                   [&](int64_t begin, int64_t end) { work(begin, end - begin); });
}

/// The functions for the instruction set that ONNX Runtime uses on this processor.
const OnnxRuntimeMath& math() {
  static const OnnxRuntimeMath& table = onnxruntime_math();
  return table;
}

at::Tensor each(OnnxRuntimeMath::Elementwise function, const at::Tensor& x) {
  const at::Tensor from = x.contiguous(), y = at::empty_like(from);
  for_rows(from.numel(), 1, [&](int64_t first, int64_t count) {
    function(from.data_ptr<float>() + first, y.data_ptr<float>() + first, count);
  });
  return y;
}

/// The kernel of an operator with the signature (input, inplace=False).
fx::Kernel unary(const char* spelling, const std::function<at::Tensor(const at::Tensor&)>& pure) {
  return [=](const Args& a) -> Value {
    at::Tensor x = a.tensor("input");
    if (!is_plain(x)) return usual(spelling, a);
    return a.flag("inplace") ? x.copy_(pure(x)) : pure(x);
  };
}

Value layer_norm(const Args& a) {
  const at::Tensor x = a.tensor("input").contiguous();
  const auto weight = a.optional_tensor("weight"), bias = a.optional_tensor("bias");
  const bool plain = is_plain(x) && (!weight || !weight->defined() || is_plain(*weight)) &&
                     (!bias || !bias->defined() || is_plain(*bias));
  if (!plain) return usual("torch.layer_norm", a);
  int64_t size = 1;
  for (const int64_t length : a.ints("normalized_shape")) size *= length;
  const at::Tensor factors = weight && weight->defined() ? weight->contiguous() : at::ones({size});
  const at::Tensor terms = bias && bias->defined() ? bias->contiguous() : at::Tensor();
  const at::Tensor y = at::empty_like(x);
  for_rows(x.numel() / size, size, [&](int64_t row, int64_t rows) {
    math().layer_norm(x.data_ptr<float>() + row * size, y.data_ptr<float>() + row * size, rows,
                      size, factors.data_ptr<float>(),
                      terms.defined() ? terms.data_ptr<float>() : nullptr,
                      static_cast<float>(a.number("eps")));
  });
  return y;
}

fx::Kernel softmax_like(const char* spelling, OnnxRuntimeMath::Rows function) {
  return [=](const Args& a) -> Value {
    const at::Tensor x = a.tensor("input");
    if (!is_plain(x) || x.dim() == 0 || a["dim"].is_none() || !a["dtype"].is_none())
      return usual(spelling, a);
    const int64_t dim = a.integer("dim");
    const at::Tensor last = x.transpose(dim, -1).contiguous();
    const at::Tensor y = at::empty_like(last);
    const int64_t size = last.size(-1);
    for_rows(last.numel() / size, size, [&](int64_t row, int64_t rows) {
      function(last.data_ptr<float>() + row * size, y.data_ptr<float>() + row * size, rows, size);
    });
    return y.transpose(dim, -1);
  };
}

/// Only for the last dimensions; ONNX Runtime reduces others by a matrix product.
Value mean(const Args& a) {
  const at::Tensor x = a.tensor("input");
  if (!is_plain(x) || a["dim"].is_none() || !a["dtype"].is_none()) return usual("torch.mean", a);
  std::vector<int64_t> dims = a.ints("dim");
  for (int64_t& dim : dims) dim = dim < 0 ? dim + x.dim() : dim;
  std::sort(dims.begin(), dims.end());
  const auto count = static_cast<int64_t>(dims.size());
  for (int64_t i = 0; i < count; ++i) {
    if (dims[static_cast<size_t>(i)] != x.dim() - count + i) return usual("torch.mean", a);
  }
  const at::Tensor from = x.contiguous();
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end() - count);
  if (a.flag("keepdim")) sizes.resize(static_cast<size_t>(x.dim()), 1);
  const at::Tensor y = at::empty(sizes, x.options());
  if (y.numel() == 0 || count == 0) return usual("torch.mean", a);
  const int64_t size = x.numel() / y.numel();
  for_rows(y.numel(), size, [&](int64_t row, int64_t rows) {
    math().mean(from.data_ptr<float>() + row * size, y.data_ptr<float>() + row, row, rows, size);
  });
  return y;
}

/// The same operators as the exporter writes for gelu.
Value gelu(const Args& a) {
  const at::Tensor x = a.tensor("input");
  if (!is_plain(x)) return usual("torch.nn.functional.gelu", a);
  if (a.text("approximate") == "none")
    return each(math().erf, x / std::sqrt(2.0)).add_(1.0).mul_(x).mul_(0.5);
  const at::Tensor inner = (x * x * x * 0.044715 + x) * std::sqrt(2.0 / M_PI);
  return each(math().tanh, inner).add_(1.0).mul_(x).mul_(0.5);
}

at::Tensor hard_sigmoid(const at::Tensor& x) { return (x * (1.0 / 6) + 0.5).clamp(0, 1); }

}  // namespace

const fx::Kernels& onnxruntime_kernels() {
  using T = const at::Tensor&;
  static const fx::Kernels kernels = {
      {"layer_norm", layer_norm},
      {"softmax", softmax_like("torch.softmax", math().softmax)},
      {"log_softmax", softmax_like("torch.log_softmax", math().log_softmax)},
      {"mean", mean},
      {"gelu", gelu},
      {"exp", unary("torch.exp", [](T x) { return each(math().exp, x); })},
      {"erf", unary("torch.erf", [](T x) { return each(math().erf, x); })},
      {"tanh", unary("torch.tanh", [](T x) { return each(math().tanh, x); })},
      {"sigmoid", unary("torch.sigmoid", [](T x) { return each(math().sigmoid, x); })},
      {"silu", unary("torch.nn.functional.silu", [](T x) { return x * each(math().sigmoid, x); })},
      {"hardsigmoid", unary("torch.nn.functional.hardsigmoid", hard_sigmoid)},
      {"hardswish",
       unary("torch.nn.functional.hardswish", [](T x) { return x * hard_sigmoid(x); })}};
  return kernels;
}

const fx::Kernels* float_kernels(const platforms::Platform& platform) {
  static const Registry<const fx::Kernels*> known = [] {
    Registry<const fx::Kernels*> r("float kernels");
    r.add("onnxruntime", &onnxruntime_kernels());
    return r;
  }();
  return platform.float_kernels.empty() ? nullptr : known.get(platform.float_kernels);
}

}  // namespace sparsebit::quant
