#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::fx {
namespace {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

/// What F.interpolate resizes to: either an explicit size or factors, one per spatial axis.
struct Target {
  c10::optional<Ints> sizes;
  c10::optional<Doubles> factors;

  at::OptionalIntArrayRef size() const {
    return sizes ? at::OptionalIntArrayRef(*sizes) : at::OptionalIntArrayRef();
  }
  c10::optional<at::ArrayRef<double>> scale() const {
    return factors ? c10::optional<at::ArrayRef<double>>(*factors) : c10::nullopt;
  }
};

Doubles numbers_per_axis(const Args& a, const char* name, size_t axes) {
  const Value& value = a[name];
  if (!value.is_sequence()) return Doubles(axes, a.number(name));
  SPARSEBIT_CHECK(value.items().size() == axes, InvalidArgument, name, " must be one number or ",
                  axes, " for a ", axes + 2, "-D input, got ", value.items().size());
  Doubles numbers;
  for (const Value& item : value.items()) numbers.push_back(item.to_double());
  return numbers;
}

Target target_of(const Args& a, const at::Tensor& x, bool needs_size) {
  SPARSEBIT_CHECK(a.is_none("size") != a.is_none("scale_factor"), InvalidArgument,
                  "exactly one of size and scale_factor must be given");
  SPARSEBIT_CHECK(x.dim() >= 3 && x.dim() <= 5, InvalidArgument, "expected 3-D to 5-D input, got ",
                  x.dim(), "-D");
  const auto axes = static_cast<size_t>(x.dim() - 2);
  const bool recompute = !a.is_none("recompute_scale_factor") && a.flag("recompute_scale_factor");
  if (!a.is_none("size")) {
    SPARSEBIT_CHECK(!recompute, InvalidArgument,
                    "recompute_scale_factor is not meaningful with an explicit size");
    return {a.ints("size", axes), c10::nullopt};
  }
  Doubles factors = numbers_per_axis(a, "scale_factor", axes);
  if (!recompute && !needs_size) return {c10::nullopt, std::move(factors)};
  Ints sizes;
  for (size_t i = 0; i < axes; ++i) {
    const auto old_size = static_cast<double>(x.size(static_cast<int64_t>(i) + 2));
    sizes.push_back(static_cast<int64_t>(std::floor(old_size * factors[i])));
  }
  return {std::move(sizes), c10::nullopt};
}

at::Tensor nearest(const at::Tensor& x, const Target& to) {
  if (x.dim() == 3) return at::upsample_nearest1d(x, to.size(), to.scale());
  if (x.dim() == 4) return at::upsample_nearest2d(x, to.size(), to.scale());
  return at::upsample_nearest3d(x, to.size(), to.scale());
}

at::Tensor nearest_exact(const at::Tensor& x, const Target& to) {
  if (x.dim() == 3) return at::_upsample_nearest_exact1d(x, to.size(), to.scale());
  if (x.dim() == 4) return at::_upsample_nearest_exact2d(x, to.size(), to.scale());
  return at::_upsample_nearest_exact3d(x, to.size(), to.scale());
}

at::Tensor area(const at::Tensor& x, const Target& to) {
  if (x.dim() == 3) return at::adaptive_avg_pool1d(x, *to.sizes);
  if (x.dim() == 4) return at::adaptive_avg_pool2d(x, *to.sizes);
  return at::adaptive_avg_pool3d(x, *to.sizes);
}

/// A mode that interpolates between neighbours: defined for one rank, takes align_corners.
struct MixingMode {
  std::string_view name;
  int64_t rank;
  at::Tensor (*resize)(const at::Tensor&, at::OptionalIntArrayRef, bool,
                       c10::optional<at::ArrayRef<double>>);
  decltype(resize) antialiased = nullptr;
};

constexpr MixingMode kMixingModes[] = {
    {"linear", 3, at::upsample_linear1d},
    {"bilinear", 4, at::upsample_bilinear2d, at::_upsample_bilinear2d_aa},
    {"bicubic", 4, at::upsample_bicubic2d, at::_upsample_bicubic2d_aa},
    {"trilinear", 5, at::upsample_trilinear3d},
};

Value interpolate(const Args& a) {
  const at::Tensor x = a.tensor("input");
  const std::string mode = a.text("mode");
  const Target to = target_of(a, x, mode == "area");
  const bool antialias = a.flag("antialias");
  const auto* const mixing = std::find_if(std::begin(kMixingModes), std::end(kMixingModes),
                                          [&](const MixingMode& m) { return m.name == mode; });
  if (mixing != std::end(kMixingModes)) {
    SPARSEBIT_CHECK(x.dim() == mixing->rank, InvalidArgument, "mode '", mode, "' needs ",
                    mixing->rank, "-D input, got ", x.dim(), "-D");
    SPARSEBIT_CHECK(!antialias || mixing->antialiased, InvalidArgument,
                    "antialias needs mode 'bilinear' or 'bicubic', got '", mode, "'");
    const bool align = !a.is_none("align_corners") && a.flag("align_corners");
    const auto resize = antialias ? mixing->antialiased : mixing->resize;
    return resize(x, to.size(), align, to.scale());
  }
  SPARSEBIT_CHECK(a.is_none("align_corners"), InvalidArgument,
                  "align_corners can only be set for the modes linear, bilinear, bicubic and "
                  "trilinear, got '",
                  mode, "'");
  SPARSEBIT_CHECK(!antialias, InvalidArgument,
                  "antialias needs mode 'bilinear' or 'bicubic', got '", mode, "'");
  if (mode == "nearest") return nearest(x, to);
  if (mode == "nearest-exact") return nearest_exact(x, to);
  SPARSEBIT_CHECK(mode == "area", InvalidArgument, "unknown mode '", mode,
                  "'; known: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area");
  return area(x, to);
}

Value grid_sample(const Args& a) {
  const int64_t mode = number_of(a, "mode", {"bilinear", "nearest", "bicubic"});
  const int64_t outside = number_of(a, "padding_mode", {"zeros", "border", "reflection"});
  const bool align = !a.is_none("align_corners") && a.flag("align_corners");
  return at::grid_sampler(a.tensor("input"), a.tensor("grid"), mode, outside, align);
}

Value affine_grid(const Args& a) {
  const at::Tensor theta = a.tensor("theta");
  const Ints size = a.ints("size");
  // ATen's generator has no checks of its own and reads out of bounds.
  SPARSEBIT_CHECK(size.size() == 4 || size.size() == 5, InvalidArgument,
                  "size must have 4 or 5 elements, got ", size.size());
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  SPARSEBIT_CHECK(theta.dim() == 3 && theta.size(1) == axes && theta.size(2) == axes + 1,
                  InvalidArgument, "theta must have shape [N, ", axes, ", ", axes + 1, "] for a ",
                  axes, "-D grid, got ", theta.sizes());
  const bool align = !a.is_none("align_corners") && a.flag("align_corners");
  return at::affine_grid_generator(theta, size, align);
}

/// Kernel of a shuffle with one integer.
template <class Shuffle>
Kernel shuffle(const char* argument, Shuffle function) {
  return [=](const Args& a) -> Value { return function(a.tensor("input"), a.integer(argument)); };
}

void add_shuffles(OperatorTable& table) {
  table.add({.name = "pixel_shuffle",
             .schema = "input, upscale_factor",
             .forms = {"torch.pixel_shuffle", "torch.nn.functional.pixel_shuffle"},
             .modules = {{.type = "torch.nn.PixelShuffle", .constructor = "upscale_factor"}},
             .kernel = shuffle("upscale_factor", at::pixel_shuffle)});
  table.add({.name = "pixel_unshuffle",
             .schema = "input, downscale_factor",
             .forms = {"torch.pixel_unshuffle", "torch.nn.functional.pixel_unshuffle"},
             .modules = {{.type = "torch.nn.PixelUnshuffle", .constructor = "downscale_factor"}},
             .kernel = shuffle("downscale_factor", at::pixel_unshuffle)});
}

}  // namespace

void add_resize_operators(OperatorTable& table) {
  const char* const fixed_mode = "size=None, scale_factor=None";
  table.add({.name = "interpolate",
             .schema = "input, size=None, scale_factor=None, mode='nearest', align_corners=None, "
                       "recompute_scale_factor=None, antialias=False",
             .forms = {"torch.nn.functional.interpolate",
                       {"torch.nn.functional.upsample",
                        "input, size=None, scale_factor=None, mode='nearest', align_corners=None"},
                       {"torch.nn.functional.upsample_nearest",
                        "input, size=None, scale_factor=None",
                        {{"mode", "nearest"}}},
                       {"torch.nn.functional.upsample_bilinear",
                        "input, size=None, scale_factor=None",
                        {{"mode", "bilinear"}, {"align_corners", true}}}},
             .modules = {{.type = "torch.nn.Upsample",
                          .constructor = "size=None, scale_factor=None, mode='nearest', "
                                         "align_corners=None, recompute_scale_factor=None"},
                         {.type = "torch.nn.UpsamplingNearest2d",
                          .constructor = fixed_mode,
                          .preset = {{"mode", "nearest"}}},
                         {.type = "torch.nn.UpsamplingBilinear2d",
                          .constructor = fixed_mode,
                          .preset = {{"mode", "bilinear"}, {"align_corners", true}}}},
             .growth = Growth::Sizes,
             .kernel = interpolate});
  table.add({.name = "grid_sample",
             .schema = "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None",
             .forms = {"torch.nn.functional.grid_sample"},
             .growth = Growth::Product,
             .kernel = grid_sample});
  table.add({.name = "affine_grid",
             .schema = "theta, size, align_corners=None",
             .forms = {"torch.nn.functional.affine_grid"},
             .growth = Growth::Sizes,
             .kernel = affine_grid});
  add_shuffles(table);
}

}  // namespace sparsebit::fx
