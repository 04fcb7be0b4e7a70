#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using Ints = std::vector<int64_t>;

/// Empty means "as the kernel size", to ATen as to torch.
template <size_t N>
Ints stride_of(const Args& a) {
  const Value& stride = a["stride"];
  const bool absent = stride.is_none() || (stride.is_sequence() && stride.items().empty());
  return absent ? Ints() : a.ints("stride", N);
}

template <size_t N, class Pool, class PoolWithIndices>
Value max_pool(const Args& a, Pool pool, PoolWithIndices pool_with_indices) {
  const auto call = [&](auto function) {
    return function(a.tensor("input"), a.ints("kernel_size", N), stride_of<N>(a),
                    a.ints("padding", N), a.ints("dilation", N), a.flag("ceil_mode"));
  };
  if (a.flag("return_indices")) return tuple_of(call(pool_with_indices));
  return call(pool);
}

template <size_t N, class Pool>
Value avg_pool(const Args& a, Pool pool) {
  return pool(a.tensor("input"), a.ints("kernel_size", N), stride_of<N>(a), a.ints("padding", N),
              a.flag("ceil_mode"), a.flag("count_include_pad"),
              a.optional_integer("divisor_override"));
}

/// None in output_size keeps the input's size on that axis.
template <size_t N>
Ints adaptive_size(const Args& a) {
  const Value& wanted = a["output_size"];
  if (!wanted.is_sequence()) return a.ints("output_size", N);
  const at::Tensor x = a.tensor("input");
  SPARSEBIT_CHECK(wanted.items().size() == N && x.dim() > static_cast<int64_t>(N), InvalidArgument,
                  "output_size must have ", N, " entries and input more than ", N, " axes, got ",
                  wanted.items().size(), " and ", x.dim());
  Ints size;
  for (const Value& entry : wanted.items()) {
    const auto axis = static_cast<int64_t>(size.size()) - static_cast<int64_t>(N);
    size.push_back(entry.is_none() ? x.size(axis) : entry.to_int());
  }
  return size;
}

template <size_t N, class Pool>
Value adaptive_max_pool(const Args& a, Pool pool) {
  const Value result = tuple_of(pool(a.tensor("input"), adaptive_size<N>(a)));
  return a.flag("return_indices") ? result : result.items()[0];
}

template <size_t N, class Pool>
Value lp_pool(const Args& a, Pool pool) {
  const Ints kernel = a.ints("kernel_size", N);
  const at::Tensor powers = a.tensor("input").pow(a.scalar("norm_type"));
  const at::Tensor mean = pool(powers, kernel, stride_of<N>(a), Ints(N, 0), a.flag("ceil_mode"));
  const int64_t window = c10::multiply_integers(kernel);
  return (mean.sign() * at::relu(mean.abs())).mul(window).pow(1.0 / a.number("norm_type"));
}

/// The output size of max_unpool; by default the smallest input that pools to the given size.
template <size_t N>
Ints unpooled_size(const Args& a, const Ints& stride) {
  const at::Tensor x = a.tensor("input");
  const Ints kernel = a.ints("kernel_size", N), padding = a.ints("padding", N);
  Ints size(N);
  for (size_t i = 0; i < N; ++i) {
    const int64_t pooled = x.size(static_cast<int64_t>(i) - static_cast<int64_t>(N));
    size[i] = (pooled - 1) * stride[i] + kernel[i] - 2 * padding[i];
  }
  if (a.is_none("output_size")) return size;
  Ints wanted = a.ints("output_size");
  if (wanted.size() == N + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  SPARSEBIT_CHECK(wanted.size() == N, InvalidArgument, "output_size must have ", N, " or ", N + 2,
                  " elements, got ", wanted.size());
  for (size_t i = 0; i < N; ++i) {
    SPARSEBIT_CHECK(std::abs(wanted[i] - size[i]) < stride[i], InvalidArgument, "output_size ",
                    wanted[i], " of axis ", i, " must be between ", size[i] - stride[i], " and ",
                    size[i] + stride[i]);
  }
  return wanted;
}

template <size_t N>
Value max_unpool(const Args& a) {
  const at::Tensor x = a.tensor("input"), indices = a.tensor("indices");
  const Ints given = stride_of<N>(a), stride = given.empty() ? a.ints("kernel_size", N) : given;
  Ints size = unpooled_size<N>(a, stride);
  if constexpr (N == 1) {
    size.push_back(1);
    return at::max_unpool2d(x.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1);
  } else if constexpr (N == 2) {
    return at::max_unpool2d(x, indices, size);
  } else {
    return at::max_unpool3d(x, indices, size, stride, a.ints("padding", N));
  }
}

constexpr const char* kMaxPool =
    "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False";
constexpr const char* kMaxPoolWithIndices =
    "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, _return_indices=True";
constexpr const char* kAvgPool =
    "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
    "divisor_override=None";
constexpr const char* kMaxUnpool =
    "input, indices, kernel_size, stride=None, padding=0, output_size=None";
constexpr const char* kLpPool = "input, norm_type, kernel_size, stride=None, ceil_mode=False";

Form with_indices(const char* spelling) {
  return {spelling, kMaxPoolWithIndices, {{"return_indices", true}}};
}

ModuleForm max_pool_module(const char* type) {
  return {.type = type,
          .constructor =
              "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, "
              "ceil_mode=False"};
}

ModuleForm avg_pool_module(const char* type) {
  return {.type = type,
          .constructor =
              "kernel_size, stride=None, padding=0, ceil_mode=False, "
              "count_include_pad=True, divisor_override=None"};
}

ModuleForm adaptive_max_module(const char* type) {
  return {.type = type, .constructor = "output_size, return_indices=False"};
}

ModuleForm unpool_module(const char* type) {
  return {.type = type,
          .constructor = "kernel_size, stride=None, padding=0",
          .forward = "input, indices, output_size=None"};
}

ModuleForm lp_pool_module(const char* type) {
  return {.type = type, .constructor = "norm_type, kernel_size, stride=None, ceil_mode=False"};
}

void add_max_pools(OperatorTable& table) {
  table.add({.name = "max_pool1d",
             .schema = kMaxPool,
             .forms = {"torch.max_pool1d", "torch.nn.functional.max_pool1d",
                       with_indices("torch.nn.functional.max_pool1d_with_indices")},
             .modules = {max_pool_module("torch.nn.MaxPool1d")},
             .kernel = [](const Args& a) {
               return max_pool<1>(a, at::max_pool1d, at::max_pool1d_with_indices);
             }});
  table.add({.name = "max_pool2d",
             .schema = kMaxPool,
             .forms = {"torch.max_pool2d", "torch.nn.functional.max_pool2d",
                       with_indices("torch.nn.functional.max_pool2d_with_indices")},
             .modules = {max_pool_module("torch.nn.MaxPool2d")},
             .kernel = [](const Args& a) {
               return max_pool<2>(a, at::max_pool2d, at::max_pool2d_with_indices);
             }});
  table.add({.name = "max_pool3d",
             .schema = kMaxPool,
             .forms = {"torch.max_pool3d", "torch.nn.functional.max_pool3d",
                       with_indices("torch.nn.functional.max_pool3d_with_indices")},
             .modules = {max_pool_module("torch.nn.MaxPool3d")},
             .kernel = [](const Args& a) {
               return max_pool<3>(a, at::max_pool3d, at::max_pool3d_with_indices);
             }});
}

void add_max_unpools(OperatorTable& table) {
  table.add({.name = "max_unpool1d",
             .schema = kMaxUnpool,
             .forms = {"torch.nn.functional.max_unpool1d"},
             .modules = {unpool_module("torch.nn.MaxUnpool1d")},
             .growth = Growth::Sizes,
             .kernel = max_unpool<1>});
  table.add({.name = "max_unpool2d",
             .schema = kMaxUnpool,
             .forms = {"torch.nn.functional.max_unpool2d"},
             .modules = {unpool_module("torch.nn.MaxUnpool2d")},
             .growth = Growth::Sizes,
             .kernel = max_unpool<2>});
  table.add({.name = "max_unpool3d",
             .schema = kMaxUnpool,
             .forms = {"torch.nn.functional.max_unpool3d"},
             .modules = {unpool_module("torch.nn.MaxUnpool3d")},
             .growth = Growth::Sizes,
             .kernel = max_unpool<3>});
}

void add_average_pools(OperatorTable& table) {
  table.add({.name = "avg_pool1d",
             .schema = "input, kernel_size, stride=None, padding=0, ceil_mode=False, "
                       "count_include_pad=True",
             .forms = {"torch.avg_pool1d", "torch.nn.functional.avg_pool1d"},
             .modules = {{.type = "torch.nn.AvgPool1d",
                          .constructor = "kernel_size, stride=None, padding=0, ceil_mode=False, "
                                         "count_include_pad=True"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::avg_pool1d(a.tensor("input"), a.ints("kernel_size"), stride_of<1>(a),
                                     a.ints("padding"), a.flag("ceil_mode"),
                                     a.flag("count_include_pad"));
             }});
  table.add({.name = "avg_pool2d",
             .schema = kAvgPool,
             .forms = {"torch.nn.functional.avg_pool2d"},
             .modules = {avg_pool_module("torch.nn.AvgPool2d")},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) { return avg_pool<2>(a, at::avg_pool2d); }});
  table.add({.name = "avg_pool3d",
             .schema = kAvgPool,
             .forms = {"torch.nn.functional.avg_pool3d"},
             .modules = {avg_pool_module("torch.nn.AvgPool3d")},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) { return avg_pool<3>(a, at::avg_pool3d); }});
  table.add({.name = "lp_pool1d",
             .schema = kLpPool,
             .forms = {"torch.nn.functional.lp_pool1d"},
             .modules = {lp_pool_module("torch.nn.LPPool1d")},
             .kernel = [](const Args& a) {
               return lp_pool<1>(a, [](const auto&... x) { return at::avg_pool1d(x...); });
             }});
  table.add({.name = "lp_pool2d",
             .schema = kLpPool,
             .forms = {"torch.nn.functional.lp_pool2d"},
             .modules = {lp_pool_module("torch.nn.LPPool2d")},
             .kernel = [](const Args& a) {
               return lp_pool<2>(a, [](const auto&... x) { return at::avg_pool2d(x...); });
             }});
}

void add_adaptive_pools(OperatorTable& table) {
  table.add({.name = "adaptive_avg_pool1d",
             .schema = "input, output_size",
             .forms = {"torch.adaptive_avg_pool1d", "torch.nn.functional.adaptive_avg_pool1d"},
             .modules = {{.type = "torch.nn.AdaptiveAvgPool1d", .constructor = "output_size"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::adaptive_avg_pool1d(a.tensor("input"), adaptive_size<1>(a));
             }});
  table.add({.name = "adaptive_avg_pool2d",
             .schema = "input, output_size",
             .forms = {"torch.nn.functional.adaptive_avg_pool2d"},
             .modules = {{.type = "torch.nn.AdaptiveAvgPool2d", .constructor = "output_size"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::adaptive_avg_pool2d(a.tensor("input"), adaptive_size<2>(a));
             }});
  table.add({.name = "adaptive_avg_pool3d",
             .schema = "input, output_size",
             .forms = {"torch.nn.functional.adaptive_avg_pool3d"},
             .modules = {{.type = "torch.nn.AdaptiveAvgPool3d", .constructor = "output_size"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::adaptive_avg_pool3d(a.tensor("input"), adaptive_size<3>(a));
             }});
  table.add(
      {.name = "adaptive_max_pool1d",
       .schema = "input, output_size, return_indices=False",
       .forms = {"torch.nn.functional.adaptive_max_pool1d",
                 {"torch.adaptive_max_pool1d", "input, output_size", {{"return_indices", true}}}},
       .modules = {adaptive_max_module("torch.nn.AdaptiveMaxPool1d")},
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) { return adaptive_max_pool<1>(a, at::adaptive_max_pool1d); }});
  table.add(
      {.name = "adaptive_max_pool2d",
       .schema = "input, output_size, return_indices=False",
       .forms = {"torch.nn.functional.adaptive_max_pool2d"},
       .modules = {adaptive_max_module("torch.nn.AdaptiveMaxPool2d")},
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) { return adaptive_max_pool<2>(a, at::adaptive_max_pool2d); }});
  table.add(
      {.name = "adaptive_max_pool3d",
       .schema = "input, output_size, return_indices=False",
       .forms = {"torch.nn.functional.adaptive_max_pool3d"},
       .modules = {adaptive_max_module("torch.nn.AdaptiveMaxPool3d")},
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) { return adaptive_max_pool<3>(a, at::adaptive_max_pool3d); }});
}

}  // namespace

void add_pooling_operators(OperatorTable& table) {
  add_max_pools(table);
  add_max_unpools(table);
  add_average_pools(table);
  add_adaptive_pools(table);
}

}  // namespace sparsebit::fx
