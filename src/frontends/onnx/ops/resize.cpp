#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"
#include "fx/ops/onnx_resize.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/node.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Value;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

/// The parameters of a Resize or Upsample, in the terms of the newest operator set.
struct Request {
  std::string mode, transformation, rounding;
  std::optional<Doubles> scales;  ///< of all axes, when they are known
  std::optional<List> sizes;      ///< likewise
  bool is_plain = true;           ///< no parameter that torch does not support
  fx::Kwargs rest = {};           ///< other arguments of onnx.Resize
};

std::optional<Doubles> constant_numbers(const Conversion& c, size_t i) {
  const at::Tensor* value = c.constant(i);
  if (!value || value->dim() != 1 || value->numel() == 0) return std::nullopt;
  const at::Tensor numbers = value->to(at::kDouble).contiguous();
  return Doubles(numbers.data_ptr<double>(), numbers.data_ptr<double>() + numbers.numel());
}

/// Size i of the result, -1 when it is not known.
int64_t new_size(const Conversion& c, const Request& r, size_t i) {
  if (r.sizes) return r.sizes->items[i].is_int() ? r.sizes->items[i].to_int() : -1;
  const int64_t size = c.info(0)->shape[i];
  const double wanted = fx::resized(size, (*r.scales)[i]);
  return size >= 0 && wanted < 1e12 ? static_cast<int64_t>(wanted) : -1;
}

/// Whether entry i of `sizes` is that of the input.
bool keeps_size(Conversion& c, const Request& r, size_t i) {
  if (r.scales) return (*r.scales)[i] == 1.0;
  const Value& size = r.sizes->items[i];
  if (size.is_int()) return size.to_int() == c.info(0)->shape[i];
  const fx::Node& node = size.node();
  const Value x = c.tensor(0);
  return node.target() == "size" && node.args().size() == 2 && x.is_node() &&
         node.args()[0].same_as(x) && node.args()[1].is_int() &&
         node.args()[1].to_int() == static_cast<int64_t>(i);
}

/// The factor of axis i when it is a whole number, else 0.
int64_t whole_factor(const Conversion& c, const Request& r, size_t i) {
  if (r.scales) {
    const double scale = (*r.scales)[i];
    return scale >= 1 && scale < 1e6 && scale == std::floor(scale) ? static_cast<int64_t>(scale)
                                                                   : 0;
  }
  const int64_t from = c.info(0)->shape[i], to = new_size(c, r, i);
  return from > 0 && to > 0 && to % from == 0 ? to / from : 0;
}

bool torch_has_nearest(const Conversion& c, const Request& r, size_t i) {
  const int64_t factor = whole_factor(c, r, i);
  if (factor == 0) return false;
  const bool centred = r.transformation == "half_pixel" || r.transformation == "pytorch_half_pixel";
  const bool rounds = r.rounding.starts_with("round_prefer");
  if (centred) return rounds;
  const bool down = r.rounding == "floor" || (r.rounding == "round_prefer_floor" && factor <= 2);
  return r.transformation == "asymmetric" && down;
}

/// Whether torch and ONNX use the same coordinates along axis i.
bool torch_places_alike(const Conversion& c, const Request& r, size_t i) {
  if (r.transformation == "half_pixel") return true;
  if (r.transformation == "pytorch_half_pixel") {  // differs for a single element
    return new_size(c, r, i) > 1 || (r.scales && (*r.scales)[i] >= 2);
  }
  if (r.transformation != "align_corners") return false;
  if (r.sizes || whole_factor(c, r, i) > 0) return true;
  const double width = static_cast<double>(c.info(0)->shape[i]) * (*r.scales)[i];
  return c.info(0)->shape[i] > 0 && width == std::floor(width);
}

/// torch's mode for the whole request; empty when torch does not support it.
std::string torch_mode(Conversion& c, const Request& r) {
  const auto rank = c.rank(0);
  const auto dtype = c.dtype(0).value_or(at::kFloat);
  const bool typed = dtype == at::kFloat || dtype == at::kDouble;
  if (!r.is_plain || !typed || !rank || *rank < 3 || *rank > 5) return "";
  if ((!r.scales && !r.sizes) || !keeps_size(c, r, 0) || !keeps_size(c, r, 1)) return "";
  for (size_t i = 2; i < static_cast<size_t>(*rank); ++i) {
    const bool alike =
        r.mode == "nearest" ? torch_has_nearest(c, r, i) : torch_places_alike(c, r, i);
    if (!alike) return "";
  }
  static constexpr const char* linear[] = {"linear", "bilinear", "trilinear"};
  if (r.mode == "nearest") return "nearest";
  if (r.mode == "linear") return linear[*rank - 3];
  return *rank == 4 ? "bicubic" : "";
}

void give_resized(Conversion& c, const Request& r, std::vector<Value> onnx_args) {
  const std::string mode = torch_mode(c, r);
  if (mode.empty()) {
    fx::Kwargs options = r.rest;
    options.emplace_back("mode", r.mode);
    options.emplace_back("coordinate_transformation_mode", r.transformation);
    options.emplace_back("nearest_mode", r.rounding);
    return c.give(c.node("onnx.Resize", std::move(onnx_args), options));
  }
  fx::Kwargs options = {{"mode", mode}};
  if (r.sizes) {
    options.emplace_back(
        "size", List(std::vector<Value>(r.sizes->items.begin() + 2, r.sizes->items.end())));
  } else {
    options.emplace_back("scale_factor",
                         List(std::vector<Value>(r.scales->begin() + 2, r.scales->end())));
  }
  if (mode != "nearest") options.emplace_back("align_corners", r.transformation == "align_corners");
  c.give(c.node("torch.nn.functional.interpolate", {c.tensor(0)}, options));
}

/// Before operator set 11 the source coordinate was x / scale; nearest rounded it down, or up when
/// the result is smaller.
void convert_old(Conversion& c, const std::optional<Doubles>& scales, const Value& argument) {
  Request r{.mode = c.attributes().text("mode", "nearest"),
            .transformation = "asymmetric",
            .rounding = "floor",
            .scales = scales,
            .sizes = {}};
  SPARSEBIT_CHECK(r.mode == "nearest" || r.mode == "linear" || r.mode == "bilinear", InvalidModel,
                  "mode is '", r.mode, "'");
  if (r.mode == "bilinear") r.mode = "linear";
  const auto rank = c.rank(0);
  SPARSEBIT_CHECK(!rank || !scales || static_cast<int64_t>(scales->size()) == *rank, InvalidModel,
                  "scales has ", scales->size(), " entries for an input with ", rank.value_or(0),
                  " axes");
  bool grows = false, shrinks = false;
  for (size_t i = 0; scales && i < scales->size(); ++i) {
    grows |= (*scales)[i] > 1;
    shrinks |= (*scales)[i] < 1;
  }
  if (r.mode == "nearest" && shrinks) {
    if (grows) c.refuse("nearest with axes that grow and axes that shrink is not supported");
    r.rounding = "ceil";
  }
  if (!scales && c.type() == "Resize") c.refuse("computed scales are not supported");
  give_resized(c, r, {c.tensor(0), Value(), argument});
}

void convert_upsample(Conversion& c) {
  if (c.opset() >= 9) return convert_old(c, constant_numbers(c, 1), c.tensor(1));
  const auto scales = c.attributes().numbers("scales");
  SPARSEBIT_CHECK(scales, InvalidModel, "the attribute 'scales' is missing");
  convert_old(c, scales, List(std::vector<Value>(scales->begin(), scales->end())));
}

/// Reads the attributes of operator set 18; `axes` are those that scales and sizes refer to.
void read_newer_attributes(const Conversion& c, Request& r, const std::optional<Ints>& axes) {
  const Attributes& a = c.attributes();
  const std::string policy = a.text("keep_aspect_ratio_policy", "stretch");
  const bool antialias = a.flag("antialias", false);
  if (policy != "stretch") r.rest.emplace_back("keep_aspect_ratio_policy", policy);
  if (antialias) r.rest.emplace_back("antialias", 1);
  if (axes) r.rest.emplace_back("axes", *axes);
  r.is_plain &= policy == "stretch" && !antialias;
}

/// Expands scales and sizes of some axes to all axes.
void spread(Conversion& c, Request& r, const Ints& axes) {
  const auto rank = c.rank(0);
  std::optional<Doubles> scales = std::exchange(r.scales, std::nullopt);
  std::optional<List> sizes = std::exchange(r.sizes, std::nullopt);
  if (!rank) return;
  const auto n = static_cast<size_t>(*rank);
  if (scales && scales->size() == axes.size()) r.scales = Doubles(n, 1.0);
  if (sizes && sizes->items.size() == axes.size()) {
    r.sizes.emplace();
    for (int64_t i = 0; i < *rank; ++i) r.sizes->items.push_back(c.size(0, i));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(wrap_axis(axes[i], *rank));
    if (r.scales) (*r.scales)[axis] = (*scales)[i];
    if (r.sizes) r.sizes->items[axis] = sizes->items[i];
  }
}

/// The arguments of onnx.Resize: X, roi, scales, sizes; empty tensors count as not given.
std::vector<Value> resize_arguments(Conversion& c, const std::optional<List>& sizes) {
  const auto given = [&c](size_t i) {
    const at::Tensor* value = c.constant(i);
    return c.has_input(i) && !(value && value->numel() == 0);
  };
  std::vector<Value> args = {c.tensor(0)};
  for (const size_t i : {size_t{1}, size_t{2}}) args.push_back(given(i) ? c.tensor(i) : Value());
  args.push_back(!given(3) ? Value() : sizes ? Value(*sizes) : c.tensor(3));
  return args;
}

void convert_resize(Conversion& c) {
  if (c.opset() < 11) return convert_old(c, constant_numbers(c, 1), c.tensor(1));
  const Attributes& a = c.attributes();
  Request r{.mode = a.text("mode", "nearest"),
            .transformation = a.text("coordinate_transformation_mode", "half_pixel"),
            .rounding = a.text("nearest_mode", "round_prefer_floor"),
            .scales = constant_numbers(c, 2),
            .sizes = c.int_list(3)};
  if (r.sizes && r.sizes->items.empty()) r.sizes.reset();
  if (r.sizes) r.scales.reset();
  std::vector<Value> args = resize_arguments(c, r.sizes);
  const double cubic = a.number("cubic_coeff_a", -0.75);
  const bool exclude = a.flag("exclude_outside", false);
  r.rest = {{"cubic_coeff_a", cubic},
            {"exclude_outside", int64_t{exclude}},
            {"extrapolation_value", a.number("extrapolation_value", 0.0)}};
  r.is_plain = !exclude && (r.mode != "cubic" || cubic == -0.75);
  const auto axes = a.ints("axes");
  read_newer_attributes(c, r, axes);
  if (axes) spread(c, r, *axes);
  const auto rank = c.rank(0);
  const size_t count = r.scales ? r.scales->size() : r.sizes ? r.sizes->items.size() : 0;
  SPARSEBIT_CHECK(!rank || count == 0 || static_cast<int64_t>(count) == *rank, InvalidModel,
                  "scales or sizes have ", count, " entries for an input with ", rank.value_or(0),
                  " axes");
  give_resized(c, r, std::move(args));
}

void convert_grid_sample(Conversion& c) {
  const Attributes& a = c.attributes();
  std::string mode = a.text("mode", "bilinear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  const bool known = mode == "bilinear" || mode == "nearest" || mode == "bicubic";
  SPARSEBIT_CHECK(known, InvalidModel, "mode is '", mode, "'");
  c.give(c.function("torch.nn.functional.grid_sample", {c.tensor(0), c.tensor(1)},
                    {{"mode", mode},
                     {"padding_mode", a.text("padding_mode", "zeros")},
                     {"align_corners", a.flag("align_corners", false)}}));
}

void convert_affine_grid(Conversion& c) {
  const bool align = c.attributes().flag("align_corners", false);
  if (const auto size = c.int_list(1)) {
    return c.give(c.node("torch.nn.functional.affine_grid", {c.tensor(0), *size, align}));
  }
  c.give(
      c.node("onnx.AffineGrid", {c.tensor(0), c.tensor(1)}, {{"align_corners", int64_t{align}}}));
}

/// Undoes im2col along two axes.
void convert_col2im(Conversion& c) {
  const Attributes& a = c.attributes();
  const auto image = c.int_list(1), block = c.int_list(2);
  if (!image || !block) c.refuse("a computed image_shape or block_shape is not supported");
  const Ints pads = a.ints("pads", {0, 0, 0, 0});
  const bool torch_can = image->items.size() == 2 && block->items.size() == 2 && pads.size() == 4 &&
                         pads[0] == pads[2] && pads[1] == pads[3];
  if (!torch_can) c.refuse("only two axes with the same padding on both sides are supported");
  c.give(c.node("torch.nn.functional.fold", {c.tensor(0), *image, *block},
                {{"dilation", a.ints("dilations", {1, 1})},
                 {"padding", Ints{pads[0], pads[1]}},
                 {"stride", a.ints("strides", {1, 1})}}));
}

}  // namespace

void add_resize_converters(Converters& r) {
  r.add("AffineGrid", convert_affine_grid);
  r.add("Col2Im", convert_col2im);
  r.add("GridSample", convert_grid_sample);
  r.add("Resize", convert_resize);
  r.add("Upsample", convert_upsample);
}

}  // namespace sparsebit::frontends
