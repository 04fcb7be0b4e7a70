#include "deploy/format_limits.h"

#include "deploy/deploy_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::format_limits_test {
namespace {

using quant::QuantModel;
using testing::ThrowsMessage;

struct Case {
  std::string name, weights, activations, more, format, error;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class FormatLimits : public testing::TestWithParam<Case> {};

TEST_P(FormatLimits, WhatAFormatCannotSayIsAnErrorThatNamesTheTensor) {
  const Case& c = GetParam();
  const QuantModel model = calibrated_net(config_of(c.weights, c.activations, c.more));
  const DeployModel deployed(model);
  EXPECT_THAT([&] { artefact_formats().get(c.format).write(deployed); },
              ThrowsMessage<Error>(c.error));
}

const std::string kSymmetric = "per-tensor-symmetric", kAffine = "per-tensor-affine";

const Case kCases[] = {
    {"VitisPerChannel", "per-channel-symmetric", kSymmetric, "BIT: 8, SCALE_BITS: 1", "vitis",
     "format 'vitis': weight 'stem.weight': expected one scale per tensor, found one per channel"},
    {"VitisAnyScale", kSymmetric, kSymmetric, "BIT: 8", "vitis",
     "format 'vitis': activation 'x': expected scales that are powers of two "
     "(QUANTIZER.SCALE_BITS: 1)"},
    {"TensorRtZeroPoint", kSymmetric, kAffine, "BIT: 8", "tensorrt_cache",
     "format 'tensorrt_cache': activation 'x': expected signed integers without zero point, "
     "found 0 to 255 (affine)"},
    {"TensorRtBits", kSymmetric, kSymmetric, "BIT: 4", "clip_ranges",
     "format 'clip_ranges': activation 'x': expected 8 bits, found 4"},
    {"SnpeBits", kSymmetric, kSymmetric, "BIT: 3", "snpe_encodings",
     "format 'snpe_encodings': activation 'x': expected 4 to 16 bits, found 3"},
    {"ActivationPerChannel", kSymmetric, "per-channel-symmetric", "BIT: 8", "ppl",
     "format 'ppl': activation 'x': expected one scale per tensor, found one per channel"},
    {"TengineSigned", kAffine, kSymmetric, "BIT: 8", "tengine_scale",
     "format 'tengine_scale': activation 'x': expected unsigned integers, found -128 to 127"},
};
INSTANTIATE_TEST_SUITE_P(All, FormatLimits, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

/// One consumer with 4 bits, another with 8.
TEST(FormatLimitsOfReaders, OneRangePerTensor) {
  class Fork : public nn::Module {
   public:
    Fork() : Module("Fork", "x") {
      add_module("a", nn::Conv2d(3, 4, 1));
      add_module("b", nn::Conv2d(3, 4, 1));
    }
    nn::Value forward(const nn::Args& in) override {
      return nn::cat({call("a", in["x"]), call("b", in["x"])}, 1);
    }
  };
  Fork net;
  nn::reset_parameters(net, 1);
  quant::QConfig config =
      quant::parse_qconfig(parse_yaml("W: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8}}\n"
                                      "A: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8}, "
                                      "SPECIFIC: [{\"b\": [\"QUANTIZER.BIT\", 4]}]}\n",
                                      "test.yaml"));
  const QuantModel model = calibrated(net, config);
  const DeployModel deployed(model);
  EXPECT_THAT([&] { artefact_formats().get("snpe_encodings").write(deployed); },
              ThrowsMessage<Error>("format 'snpe_encodings': tensor 'x' is quantized differently "
                                   "for different consumers; the format has one range per tensor"));
  EXPECT_EQ(artefact_formats().get("openvino_fq").write(deployed).size(), 1u);
}

}  // namespace
}  // namespace sparsebit::deploy::test::format_limits_test
