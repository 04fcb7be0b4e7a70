#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/window.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::frontends {
namespace {

using fx::Value;
using Ints = std::vector<int64_t>;

/// The attributes that all poolings share.
struct Pool {
  Ints kernel;
  Window window;
  bool ceil_mode;
  std::string auto_pad = "NOTSET";  ///< SAME_* when the padding depends on a dynamic input size

  size_t axes() const { return kernel.size(); }
  bool is_deferred() const { return auto_pad != "NOTSET"; }
  bool is_dilated() const {
    return std::any_of(window.dilation.begin(), window.dilation.end(),
                       [](int64_t step) { return step != 1; });
  }
  /// torch pads at most half of the kernel.
  bool torch_can_pad() const {
    for (size_t i = 0; i < axes(); ++i) {
      if (window.begin[i] < 0 || window.begin[i] > kernel[i] / 2) return false;
    }
    return window.is_symmetric();
  }

  /// As keyword arguments of the operators with ONNX's own name.
  fx::Kwargs onnx_options() const {
    Ints pads(2 * axes());
    std::copy(window.begin.begin(), window.begin.end(), pads.begin());
    std::copy(window.end.begin(), window.end.end(), pads.begin() + static_cast<int64_t>(axes()));
    return {
        {"kernel_shape", kernel},       {"auto_pad", auto_pad}, {"ceil_mode", int64_t{ceil_mode}},
        {"dilations", window.dilation}, {"pads", pads},         {"strides", window.stride}};
  }
};

bool has_fixed_size(const Conversion& c) {
  const auto info = c.info(0);
  return info && info->shape.size() >= 2 &&
         std::none_of(info->shape.begin() + 2, info->shape.end(), [](int64_t s) { return s < 0; });
}

Pool read_pool(const Conversion& c) {
  const auto kernel = c.attributes().ints("kernel_shape");
  SPARSEBIT_CHECK(kernel && !kernel->empty(), InvalidModel, "kernel_shape is missing");
  const auto spatial = static_cast<int64_t>(kernel->size());
  const auto rank = c.rank(0);
  SPARSEBIT_CHECK(!rank || *rank == spatial + 2, InvalidModel, "kernel_shape has ", spatial,
                  " entries for an input with ", rank.value_or(0), " axes");
  Pool pool{.kernel = kernel_of(c, 0, spatial),
            .window = {},
            .ceil_mode = c.attributes().flag("ceil_mode", false)};
  const std::string mode = c.attributes().text("auto_pad", "NOTSET");
  const bool deferred = mode.starts_with("SAME") && !has_fixed_size(c);
  pool.window =
      read_window(c, spatial, pool.kernel, deferred ? Direction::Backward : Direction::Forward);
  if (deferred) pool.auto_pad = mode;
  return pool;
}

/// "torch.nn.functional.max_pool" and 2 give "torch.nn.functional.max_pool2d".
std::string with_axes(const std::string& function, size_t axes) {
  return function + std::to_string(axes) + "d";
}

/// Whether libtorch pools this element type on the CPU.
bool torch_can_pool(const Conversion& c, const Pool& pool) {
  const auto dtype = c.dtype(0).value_or(at::kFloat);
  return (dtype == at::kFloat || dtype == at::kDouble) && pool.axes() <= 3 && !pool.is_deferred();
}

void convert_max_pool(Conversion& c) {
  const Pool pool = read_pool(c);
  const int64_t order = c.attributes().integer("storage_order", 0);
  const bool torch_can =
      torch_can_pool(c, pool) && !c.wants_output(1) && (pool.torch_can_pad() || !pool.ceil_mode);
  if (!torch_can) {
    fx::Kwargs options = pool.onnx_options();
    options.emplace_back("storage_order", order);
    const Value results = c.node("onnx.MaxPool", {c.tensor(0)}, options);  // padding may enlarge it
    c.give(0, c.item(results, 0));
    if (c.wants_output(1)) c.give(1, c.item(results, 1));
    return;
  }
  Value x = c.tensor(0);
  Ints padding = pool.window.begin;
  if (!pool.torch_can_pad()) {
    x = pad_spatially(c, x, pool.window, -std::numeric_limits<double>::infinity());
    padding.assign(pool.axes(), 0);
  }
  c.give(c.function(with_axes("torch.nn.functional.max_pool", pool.axes()), {x, pool.kernel},
                    {{"stride", pool.window.stride},
                     {"padding", padding},
                     {"dilation", pool.window.dilation},
                     {"ceil_mode", pool.ceil_mode}}));
}

void convert_average_pool(Conversion& c) {
  const Pool pool = read_pool(c);
  const bool with_padding = c.attributes().flag("count_include_pad", false);
  const bool torch_can = torch_can_pool(c, pool) && !pool.is_dilated() &&
                         (pool.torch_can_pad() || (with_padding && !pool.ceil_mode));
  if (!torch_can) {
    fx::Kwargs options = pool.onnx_options();
    options.emplace_back("count_include_pad", int64_t{with_padding});
    return c.give(c.node("onnx.AveragePool", {c.tensor(0)}, options));
  }
  Value x = c.tensor(0);
  Ints padding = pool.window.begin;
  if (!pool.torch_can_pad()) {
    x = pad_spatially(c, x, pool.window, 0.0);
    padding.assign(pool.axes(), 0);
  }
  c.give(c.function(with_axes("torch.nn.functional.avg_pool", pool.axes()), {x, pool.kernel},
                    {{"stride", pool.window.stride},
                     {"padding", padding},
                     {"ceil_mode", pool.ceil_mode},
                     {"count_include_pad", with_padding}}));
}

void convert_lp_pool(Conversion& c) {
  fx::Kwargs options = read_pool(c).onnx_options();
  options.emplace_back("p", c.attributes().integer("p", 2));
  c.give(c.node("onnx.LpPool", {c.tensor(0)}, options));
}

void convert_global_pool(Conversion& c, const std::string& function) {
  const auto rank = c.rank(0);
  const auto dtype = c.dtype(0).value_or(at::kFloat);
  const bool torch_can = rank && *rank >= 3 && *rank <= 5 && dtype != at::kHalf;
  if (!torch_can) return c.give(c.function("onnx." + c.type(), {c.tensor(0)}));
  c.give(c.function(with_axes(function, static_cast<size_t>(*rank - 2)), {c.tensor(0), 1}));
}

void convert_global_average_pool(Conversion& c) {
  convert_global_pool(c, "torch.nn.functional.adaptive_avg_pool");
}

void convert_global_max_pool(Conversion& c) {
  convert_global_pool(c, "torch.nn.functional.adaptive_max_pool");
}

}  // namespace

void add_pooling_converters(Converters& r) {
  r.add("AveragePool", convert_average_pool);
  r.add("GlobalAveragePool", convert_global_average_pool);
  r.add("GlobalMaxPool", convert_global_max_pool);
  r.add("LpPool", convert_lp_pool);
  r.add("MaxPool", convert_max_pool);
}

}  // namespace sparsebit::frontends
