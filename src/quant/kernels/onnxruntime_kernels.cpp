#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include "quant/kernels/onnxruntime_math.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <functional>

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

/// Rows are shared among threads; no row depends on another.
template <class Work>
void for_rows(int64_t rows, int64_t size, const Work& work) {
  constexpr int64_t kNumbersPerTask = 1 << 15;
  at::parallel_for(0, rows, std::max<int64_t>(1, kNumbersPerTask / size),
                   [&](int64_t begin, int64_t end) { work(begin, end - begin); });
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
    layer_norm_rows(x.data_ptr<float>() + row * size, y.data_ptr<float>() + row * size, rows, size,
                    factors.data_ptr<float>(), terms.defined() ? terms.data_ptr<float>() : nullptr,
                    static_cast<float>(a.number("eps")));
  });
  return y;
}

Value softmax(const Args& a) {
  const at::Tensor x = a.tensor("input");
  if (!is_plain(x) || x.dim() == 0 || a["dim"].is_none() || !a["dtype"].is_none())
    return usual("torch.softmax", a);
  const int64_t dim = a.integer("dim");
  const at::Tensor last = x.transpose(dim, -1).contiguous();
  const at::Tensor y = at::empty_like(last);
  const int64_t size = last.size(-1);
  for_rows(last.numel() / size, size, [&](int64_t row, int64_t rows) {
    softmax_rows(last.data_ptr<float>() + row * size, y.data_ptr<float>() + row * size, rows, size);
  });
  return y.transpose(dim, -1);
}

at::Tensor erf_of(const at::Tensor& x) {
  const at::Tensor from = x.contiguous(), y = at::empty_like(from);
  for_rows(from.numel(), 1, [&](int64_t first, int64_t count) {
    quant::erf_of(from.data_ptr<float>() + first, y.data_ptr<float>() + first, count);
  });
  return y;
}

Value erf(const Args& a) {
  const at::Tensor x = a.tensor("input");
  return is_plain(x) ? Value(erf_of(x)) : usual("torch.erf", a);
}

/// The steps that the exporter writes.
Value gelu(const Args& a) {
  const at::Tensor x = a.tensor("input");
  if (!is_plain(x) || a.text("approximate") != "none") return usual("torch.nn.functional.gelu", a);
  return erf_of(x / std::sqrt(2.0)).add_(1.0).mul_(x).mul_(0.5);
}

}  // namespace

const fx::Kernels& onnxruntime_kernels() {
  static const fx::Kernels kernels = {
      {"layer_norm", layer_norm}, {"softmax", softmax}, {"erf", erf}, {"gelu", gelu}};
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
