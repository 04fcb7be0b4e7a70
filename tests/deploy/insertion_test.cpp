// Quantizer placement compared with golden tables from MQBench, for its backends and several
// networks. Tensors are named after their producer; for a convolution that MQBench fuses with the
// following relu, that is the relu. Where MQBench quantized only one operand of a layer (weights
// but not inputs, or the other way round), the test lists the added quantizers.

#include "sparsebit/deploy/prepare.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/report/coverage.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::deploy::insertion_test {
namespace {

using testing::UnorderedElementsAreArray;
using Names = std::vector<std::string>;

/// x -> conv1 bn1 relu pool -> [c2 b2 r2 c3 b3] + pool -> r3 gap flatten fc
class Res : public nn::Module {
 public:
  Res() : Module("Res", "x") {
    add_module("conv1", nn::Conv2d(3, 8, 3, {{"padding", 1}}));
    add_module("bn1", nn::BatchNorm2d(8));
    add_module("relu", nn::ReLU());
    add_module("pool", nn::MaxPool2d(2));
    for (const char* n : {"2", "3"}) {
      add_module(std::string("c") + n, nn::Conv2d(8, 8, 3, {{"padding", 1}}));
      add_module(std::string("b") + n, nn::BatchNorm2d(8));
      add_module(std::string("r") + n, nn::ReLU());
    }
    add_module("gap", nn::AdaptiveAvgPool2d(1));
    add_module("fc", nn::Linear(8, 4));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value pool = call("pool", call("relu", call("bn1", call("conv1", in["x"]))));
    const nn::Value y = call("b3", call("c3", call("r2", call("b2", call("c2", pool)))));
    return call("fc", nn::flatten(call("gap", call("r3", y + pool)), 1));
  }
};

/// x -> conv1_1 bn lrelu = a; mp(a) -> conv2 lrelu2 deconv dbn drelu = b; last(cat[a, b])
class Yolo : public nn::Module {
 public:
  Yolo() : Module("Yolo", "x") {
    add_module("conv1_1", nn::Conv2d(3, 8, 3, {{"padding", 1}}));
    add_module("bn", nn::BatchNorm2d(8));
    add_module("lrelu", nn::LeakyReLU());
    add_module("mp", nn::MaxPool2d(2));
    add_module("conv2", nn::Conv2d(8, 8, 3, {{"padding", 1}}));
    add_module("lrelu2", nn::LeakyReLU());
    add_module("deconv", nn::ConvTranspose2d(8, 8, 2, {{"stride", 2}}));
    add_module("dbn", nn::BatchNorm2d(8));
    add_module("drelu", nn::ReLU());
    add_module("last", nn::Conv2d(16, 4, 1));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value a = call("lrelu", call("bn", call("conv1_1", in["x"])));
    const nn::Value small = call("lrelu2", call("conv2", call("mp", a)));
    const nn::Value b = call("drelu", call("dbn", call("deconv", small)));
    return call("last", nn::cat({a, b}, 1));
  }
};

/// a = c1(x); m = a * sigmoid(c2(a)); o = m + a; (c3(interpolate(o)), m)
class SqueezeExcite : public nn::Module {
 public:
  SqueezeExcite() : Module("SqueezeExcite", "x") {
    add_module("c1", nn::Conv2d(3, 8, 3, {{"padding", 1}}));
    add_module("c2", nn::Conv2d(8, 8, 1));
    add_module("sig", nn::Sigmoid());
    add_module("c3", nn::Conv2d(8, 4, 1));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value a = call("c1", in["x"]);
    const nn::Value m = a * call("sig", call("c2", a));
    const nn::Value up = nn::interpolate(m + a, {{"scale_factor", 2.0}, {"mode", "bilinear"}});
    return fx::Tuple({call("c3", up), m});
  }
};

/// h = emb + pos; softmax(q kT / 2 + mask) v; LN(o + h); FFN + residual
class Attention : public nn::Module {
 public:
  Attention() : Module("Attention", "i, pos, mask") {
    add_module("emb", nn::Embedding(10, 8));
    for (const char* name : {"q", "k", "v", "o", "f1", "f2"}) add_module(name, nn::Linear(8, 8));
    add_module("ln", nn::LayerNorm(8));
    add_module("ln2", nn::LayerNorm(8));
    add_module("act", nn::GELU());
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value h = call("emb", in["i"]) + in["pos"];
    const nn::Value scores =
        nn::matmul(call("q", h), nn::transpose(call("k", h), -2, -1)) / nn::Value(2.0);
    const nn::Value seen = nn::softmax(scores + in["mask"], -1);
    const nn::Value normed = call("ln", call("o", nn::matmul(seen, call("v", h))) + h);
    return call("ln2", call("f2", call("act", call("f1", normed))) + normed);
  }
};

template <class Model>
quant::QuantModel prepared(const std::string& platform, const CustomConfig& custom = {}) {
  Model model;
  return prepare_by_platform(model, platform, custom, {at::randn({1, 3, 8, 8})});
}

Names activations(const quant::QuantModel& model) {
  std::set<std::string> names;
  for (const quant::QuantPoint& point : model.points()) {
    if (point.is_activation()) names.insert(point.value);
  }
  return {names.begin(), names.end()};
}

struct Row {
  Names platforms;
  Names golden;
  Names added = {};  ///< tensors that MQBench left in float although the other operand is quantized
};

template <class Model>
void check(const std::vector<Row>& rows) {
  for (const auto& [platforms, golden, added] : rows) {
    Names expected = golden;
    expected.insert(expected.end(), added.begin(), added.end());
    for (const std::string& platform : platforms) {
      SCOPED_TRACE(platform);
      EXPECT_THAT(activations(prepared<Model>(platform)), UnorderedElementsAreArray(expected));
    }
  }
}

TEST(Insertion, Res) {
  check<Res>({{{"tensorrt", "qdq", "nnie"}, {"x", "relu", "pool", "r2", "c3", "r3", "flatten"}},
              {{"snpe", "ppl_w8a16", "ppl_cuda", "stpu"},
               {"x", "relu", "pool", "r2", "c3", "r3", "flatten", "fc"}},
              {{"tengine_u8"}, {"x", "relu", "pool", "r2", "c3", "add", "r3", "flatten", "fc"}},
              {{"qnn"}, {"x", "relu", "pool", "r2", "c3", "r3", "gap"}},
              {{"vitis"}, {"relu", "r2", "c3", "add", "r3", "gap", "fc"}},
              {{"openvino"}, {"x", "relu", "r2", "c3", "r3", "gap"}},
              {{"academic"}, {"x", "pool", "r2", "flatten"}},
              {{"tensorrt_nlp"}, {"pool", "c3", "flatten"}},
              {{"academic_nlp"}, {"flatten"}}});
}

TEST(Insertion, Yolo) {
  check<Yolo>({{{"tensorrt", "qdq", "nnie"}, {"x", "lrelu", "mp", "lrelu2", "cat"}},
               {{"snpe", "ppl_w8a16", "ppl_cuda", "stpu", "tengine_u8"},
                {"x", "conv1_1", "lrelu", "mp", "conv2", "lrelu2", "drelu", "cat", "last"}},
               {{"qnn"}, {"x", "conv1_1", "mp", "conv2", "cat", "last"}},
               {{"vitis"}, {"conv1_1", "conv2", "drelu", "cat", "last"}},
               // The deconvolution's weight is quantized, so its input is; and a layer's input that
               // comes from a concatenation is quantized before the concatenation.
               {{"openvino"}, {"x", "lrelu"}, {"lrelu2", "drelu"}},
               {{"academic"}, {"x", "mp", "cat"}, {"lrelu2"}}});
}

TEST(Insertion, SqueezeExcite) {
  check<SqueezeExcite>(
      {{{"tensorrt", "qdq", "nnie"}, {"x", "c1", "sig", "add", "interpolate"}},
       {{"snpe", "ppl_w8a16", "ppl_cuda", "stpu"},
        {"x", "c1", "c2", "sig", "mul", "add", "interpolate", "c3"}},
       {{"tengine_u8"}, {"x", "c1", "c2", "sig", "mul", "add", "interpolate", "c3"}},
       {{"qnn"}, {"x", "c1", "c2", "mul", "add", "interpolate", "c3"}},
       {{"vitis"}, {"c1", "c2", "mul", "add", "interpolate", "c3"}},
       {{"openvino"}, {"x", "c1", "add", "interpolate"}},
       {{"academic"}, {"x", "c1", "interpolate"}}});
}

TEST(Insertion, Attention) {
  Attention model;
  const std::vector<fx::Value> example = {at::zeros({1, 4}, at::kLong), at::randn({1, 4, 8}),
                                          at::zeros({1, 4, 4})};
  const auto points = [&](const std::string& platform) {
    return activations(prepare_by_platform(model, platform, {}, example));
  };
  EXPECT_THAT(points("tensorrt_nlp"),
              UnorderedElementsAreArray({"mask", "add", "q", "transpose", "softmax", "v",
                                         "matmul_1", "o", "ln", "act", "f2"}));
  EXPECT_THAT(points("academic_nlp"), UnorderedElementsAreArray({"add", "q", "transpose", "softmax",
                                                                 "v", "matmul_1", "ln", "act"}));
  const quant::QuantModel nlp = prepare_by_platform(model, "academic_nlp", {}, example);
  EXPECT_EQ(nlp.layer("emb").weight_quantizer().spec().channel_axis, 1);
}

/// Coverage reports int8 where placement inserted quantizers: pools, concatenations and residuals.
TEST(Insertion, CoverageAgreesWithPlacement) {
  const auto share_of = [](quant::QuantModel model) {
    const at::Tensor x = at::randn({1, 3, 8, 8});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    return report::coverage_of(model).share_of_macs();
  };
  for (const char* platform : {"tensorrt", "tensorrt_explicit", "qdq", "snpe", "ppl_cuda", "stpu",
                               "tengine_u8", "vitis", "openvino", "academic", "nnie"}) {
    EXPECT_EQ(share_of(prepared<Res>(platform)), 1) << platform;
    // The DPU has no leaky relu, so downstream layers have float inputs.
    if (platform == std::string("vitis")) continue;
    EXPECT_EQ(share_of(prepared<Yolo>(platform)), 1) << platform;
  }
}

/// TensorRT's explicit placement: of a residual sum, the branch that ends in a layer stays float.
TEST(Insertion, TensorRtExplicit) {
  EXPECT_THAT(activations(prepared<Res>("tensorrt_explicit")),
              UnorderedElementsAreArray({"x", "pool", "r2", "flatten"}));
}

/// Unsigned activations use 0 to 255 with a scale of max / 255. MQBench loses a factor of 2 here.
TEST(Insertion, OpenVinoUnsignedActivations) {
  quant::QuantModel model = prepared<Res>("openvino");
  std::map<std::string, bool> is_unsigned;
  for (const quant::QuantPoint& point : model.points()) {
    if (point.is_activation()) is_unsigned[point.value] = point.quantizer->spec().qmin() == 0;
  }
  const std::map<std::string, bool> expected = {{"x", false},  {"relu", true}, {"r2", true},
                                                {"c3", false}, {"r3", true},   {"gap", true}};
  EXPECT_EQ(is_unsigned, expected);
  quant::Quantizer& relu =
      *std::find_if(model.points().begin(), model.points().end(), [](const auto& point) {
         return point.value == "relu";
       })->quantizer;
  relu.set_qparams(quant::qparams_from_range(at::zeros({}), at::full({}, 5.1), relu.spec()));
  EXPECT_FLOAT_EQ(relu.qparams().scale.item<float>(), 5.1f / 255);
  EXPECT_EQ(relu.spec().qmax(), 255);
  const quant::QuantSpec& weight = model.layer("c2").weight_quantizer().spec();
  EXPECT_EQ(weight.qmin(), -64);
  EXPECT_EQ(weight.qmax(), 63);
}

TEST(Insertion, AcademicKeepsEndsAtEightBits) {
  const quant::QuantModel model = prepared<Res>("academic");
  std::map<std::string, int> bits;
  for (const quant::QuantPoint& point : model.points())
    bits[point.value] = point.quantizer->spec().bits;
  const std::map<std::string, int> expected = {
      {"x", 8},         {"pool", 4},      {"r2", 4},       {"flatten", 8}, {"conv1.weight", 8},
      {"c2.weight", 4}, {"c3.weight", 4}, {"fc.weight", 8}};
  EXPECT_EQ(bits, expected);
}

/// Quantization schemes of each platform.
TEST(Insertion, SchemesOfPlatforms) {
  struct Expected {
    const char *platform, *weight, *activation;
    int64_t w_low, w_high, a_low, a_high;
  };
  const std::vector<Expected> table = {
      {"tensorrt", "per-channel-symmetric", "per-tensor-symmetric", -127, 127, -127, 127},
      {"tensorrt_nlp", "per-channel-symmetric", "per-tensor-symmetric", -127, 127, -127, 127},
      {"qdq", "per-channel-symmetric", "per-tensor-symmetric", -127, 127, -127, 127},
      {"snpe", "per-tensor-affine", "per-tensor-affine", 0, 255, 0, 255},
      {"ppl_w8a16", "per-tensor-affine", "per-tensor-affine", 0, 255, 0, 65535},
      {"ppl_cuda", "per-channel-affine", "per-tensor-affine", 0, 255, 0, 255},
      {"stpu", "per-tensor-symmetric", "per-tensor-symmetric", -127, 127, -127, 127},
      {"vitis", "per-tensor-symmetric", "per-tensor-symmetric", -128, 127, -128, 127},
      {"qnn", "per-tensor-affine", "per-tensor-affine", 0, 255, 0, 255},
      {"tengine_u8", "per-tensor-affine", "per-tensor-affine", 0, 255, 0, 255},
      {"openvino", "per-channel-symmetric", "per-tensor-symmetric", -64, 63, -128, 127},
      {"ncnn", "per-channel-symmetric", "per-tensor-symmetric", -127, 127, -127, 127}};
  for (const Expected& row : table) {
    SCOPED_TRACE(row.platform);
    const quant::QuantModel model = prepared<Res>(row.platform);
    const bool has_linear = row.platform != std::string("qnn");
    const quant::QuantSpec& weight =
        model.layer(has_linear ? "fc" : "c2").weight_quantizer().spec();
    EXPECT_EQ(to_string(weight.scheme), row.weight);
    EXPECT_EQ(weight.qmin(), row.w_low);
    EXPECT_EQ(weight.qmax(), row.w_high);
    const quant::QuantSpec& activation = model.points().front().quantizer->spec();
    EXPECT_EQ(to_string(activation.scheme), row.activation);
    EXPECT_EQ(activation.qmin(), row.a_low);
    EXPECT_EQ(activation.qmax(), row.a_high);
  }
}

TEST(Insertion, DeconvolutionsHaveTheirChannelsOnAxisOne) {
  const quant::QuantModel model = prepared<Yolo>("tensorrt");
  EXPECT_EQ(model.layer("deconv").weight_quantizer().spec().channel_axis, 1);
  EXPECT_EQ(model.layer("deconv").input_quantizers().size(), 1u);
}

TEST(Insertion, VitisQuantizesBiases) {
  const quant::QuantModel model = prepared<Res>("vitis");
  const auto is_bias = [](const quant::QuantPoint& point) { return point.value == "c2.bias"; };
  const auto it = std::find_if(model.points().begin(), model.points().end(), is_bias);
  ASSERT_NE(it, model.points().end());
  EXPECT_EQ(it->quantizer->spec().bits, 8);
}

}  // namespace
}  // namespace sparsebit::deploy::insertion_test
