// Operators that resample images: ATen numbers their modes and has one operator per mode and rank.

#include "frontends/torchscript/aten_rules.h"

#include "sparsebit/core/error.h"

#include <array>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;

/// The name of a mode from its number.
template <size_t N>
std::string mode_name(const AtenCall& call, const char* argument,
                      const std::array<const char*, N>& names) {
  const Value number = call[argument];
  SPARSEBIT_CHECK(number.is_int() && number.to_int() >= 0 && number.to_int() < int64_t{N},
                  InvalidModel, call.name, ": unknown ", argument, ", expected 0 to ", N - 1);
  return names[static_cast<size_t>(number.to_int())];
}

const char* upsampling_mode(const std::string& name) {
  const auto has = [&](const char* text) { return name.find(text) != std::string::npos; };
  return has("nearest_exact") ? "nearest-exact"
         : has("nearest")     ? "nearest"
         : has("trilinear")   ? "trilinear"
         : has("bilinear")    ? "bilinear"
         : has("bicubic")     ? "bicubic"
                              : "linear";
}

}  // namespace

/// Handles both families of overloads: scale factors as a list, or one argument per axis.
std::optional<ScriptValues> write_upsample(GraphBuilder& b, const AtenCall& call) {
  std::vector<Value> scales;
  for (const char* name : {"scales", "scales_d", "scales_h", "scales_w"}) {
    if (!call[name].is_none()) scales.push_back(call[name]);
  }
  const Value factors = scales.empty() ? call["scale_factors"] : Value(fx::List(std::move(scales)));
  Kwargs kwargs;
  if (factors.is_none())
    kwargs.emplace_back("size", call["output_size"]);
  else
    kwargs.emplace_back("scale_factor", factors);
  kwargs.emplace_back("mode", upsampling_mode(call.name));
  if (call.has("align_corners")) kwargs.emplace_back("align_corners", call["align_corners"]);
  if (call.name.ends_with("_aa")) kwargs.emplace_back("antialias", true);
  const Value input = call.has("self") ? call["self"] : call["input"];
  return ScriptValues{b.function("torch.nn.functional.interpolate", {input}, std::move(kwargs))};
}

std::optional<ScriptValues> write_grid_sampler(GraphBuilder& b, const AtenCall& call) {
  const std::array modes = {"bilinear", "nearest", "bicubic"};
  const std::array paddings = {"zeros", "border", "reflection"};
  return ScriptValues{b.function("torch.nn.functional.grid_sample", {call["input"], call["grid"]},
                                 {{"mode", mode_name(call, "interpolation_mode", modes)},
                                  {"padding_mode", mode_name(call, "padding_mode", paddings)},
                                  {"align_corners", call["align_corners"]}})};
}

std::optional<ScriptValues> write_affine_grid(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.nn.functional.affine_grid", {call["theta"], call["size"]},
                                 {{"align_corners", call["align_corners"]}})};
}

}  // namespace sparsebit::frontends::torchscript
