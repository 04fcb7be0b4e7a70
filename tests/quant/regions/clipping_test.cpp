#include "sparsebit/quant/regions/clipping.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::quant::clipping_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The clip bounds of a call with the input `%x`; `%b` is a tensor.
std::optional<ClipBounds> bounds_of(const std::string& call) {
  const fx::GraphModule module(
      fx::parse_graph("%x = input()\n%b = torch.amax(%x)\n%y = " + call + "\nreturn %y"), "Case");
  return clip_bounds_of(*fx::resolve(*module.graph().find("y"), module));
}

TEST(Clipping, BoundsOfOperators) {
  const std::vector<std::pair<const char*, ClipBounds>> cases = {
      {"torch.relu(%x)", {0, kInfinity}},
      {"torch.nn.functional.relu6(%x)", {0, 6}},
      {"torch.nn.functional.hardtanh(%x)", {-1, 1}},
      {"torch.nn.functional.hardtanh(%x, -2.5, 3)", {-2.5, 3}},
      {"torch.clamp(%x, -0.5, 4)", {-0.5, 4}},
      {"torch.clamp(%x, max=4)", {-kInfinity, 4}},
      {"torch.clamp(%x, 0.5)", {0.5, kInfinity}}};
  for (const auto& [call, expected] : cases) EXPECT_EQ(bounds_of(call), expected) << call;
}

TEST(Clipping, OthersHaveNoBounds) {
  EXPECT_FALSE(bounds_of("torch.clamp(%x, %b)"));
  EXPECT_FALSE(bounds_of("torch.clamp(%x, 0, %b)"));
  EXPECT_FALSE(bounds_of("torch.tanh(%x)"));  // bounded, but not by clipping
}

QuantizerPtr quantizer_of(const char* type, const char* scheme, const at::Tensor& scale,
                          double zero_point) {
  const QuantSpec spec{.scheme = scheme_from_text(scheme), .bits = 8, .channel_axis = 1};
  TensorConfig config{.scheme = spec.scheme};
  config.quantizer.type = type;
  config.quantizer.bits = 8;
  const QuantizerPtr quantizer = make_quantizer(spec, config);
  quantizer->set_qparams({scale, at::full_like(scale, zero_point)});
  return quantizer;
}

bool clips(ClipBounds bounds, const char* scheme, double scale, double zero_point) {
  return rounding_clips(bounds,
                        *quantizer_of("uniform", scheme, at::scalar_tensor(scale), zero_point));
}

/// 0 to 255 with scale 1/32 is 0 to 7.97.
TEST(Clipping, RoundingClipsWhereTheIntegersEndBeforeTheBounds) {
  const char* scheme = "per-tensor-affine";
  EXPECT_TRUE(clips({0, kInfinity}, scheme, 0.03125, 0));
  EXPECT_TRUE(clips({-1, 8}, scheme, 0.03125, 0));
  EXPECT_FALSE(clips({0, 6}, scheme, 0.03125, 0));          // 6 is 192
  EXPECT_FALSE(clips({0, kInfinity}, scheme, 0.03125, 1));  // 0 is -1/32
  EXPECT_FALSE(clips({-1, 6}, scheme, 0.03125, 32));
  EXPECT_TRUE(clips({-1, 7}, scheme, 0.03125, 32));  // 0 and 256
  EXPECT_TRUE(clips({-kInfinity, kInfinity}, scheme, 0.03125, 100));
}

/// Bounds are rounded like values: 254.5 is rounded to the even 254, values above it to 255.
TEST(Clipping, BoundsAreRoundedAsValuesAre) {
  const char* scheme = "per-tensor-affine";
  EXPECT_TRUE(clips({0, 254.75}, scheme, 1, 0));
  EXPECT_FALSE(clips({0, 254.5}, scheme, 1, 0));
  EXPECT_TRUE(clips({0.5, kInfinity}, scheme, 1, 0));
  EXPECT_FALSE(clips({0.75, kInfinity}, scheme, 1, 0));
}

TEST(Clipping, SignedIntegersDoNotEndAtZero) {
  EXPECT_FALSE(clips({0, kInfinity}, "per-tensor-symmetric", 0.25, 0));
  EXPECT_TRUE(clips({-32, 32}, "per-tensor-symmetric", 0.25, 0));  // -128 and 128
  EXPECT_FALSE(clips({-31, 32}, "per-tensor-symmetric", 0.25, 0));
}

TEST(Clipping, OnlyOneScaleOfUniformStepsClips) {
  const ClipBounds relu{.low = 0};
  const at::Tensor step = at::scalar_tensor(0.5);
  EXPECT_TRUE(rounding_clips(relu, *quantizer_of("uniform", "per-tensor-affine", step, 0)));
  EXPECT_FALSE(
      rounding_clips(relu, *quantizer_of("uniform", "per-channel-affine", at::ones({3}), 0)));
  EXPECT_FALSE(rounding_clips(relu, *quantizer_of("dorefa", "per-tensor-affine", step, 0)));
  EXPECT_FALSE(rounding_clips({}, *quantizer_of("nnie", "per-tensor-symmetric", step, 0)));
}

}  // namespace
}  // namespace sparsebit::quant::clipping_test
