#include "sparsebit/core/error.h"
#include "sparsebit/platforms/platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::platforms::platform_reader_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string error_of(const std::string& text) {
  try {
    parse_platform(text, "p.yaml");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(PlatformReader, BasedOnAnother) {
  const PlatformPtr mine = parse_platform(R"(
name: mine
based_on: onnxruntime
activations: {bits: [8], schemes: [per-tensor-symmetric]}
operators:
  cat: none
  "tanh, erf": {form: scaling, when: {approximate: none}}
)",
                                          "p.yaml");
  const Platform& base = *find_platform("onnxruntime");
  EXPECT_EQ(mine->name, "mine");
  EXPECT_EQ(mine->weights, base.weights);
  EXPECT_EQ(mine->activations.schemes, std::vector<std::string>{"per-tensor-symmetric"});
  EXPECT_FALSE(mine->operators.contains("cat"));
  EXPECT_TRUE(mine->operators.contains("erf"));
  EXPECT_EQ(mine->operators.at("tanh").conditions.front().argument, "approximate");
  EXPECT_EQ(mine->operators.at("conv2d"), base.operators.at("conv2d"));
  EXPECT_THAT(mine->config, HasSubstr("BACKEND: mine\n"));  // not the base's
}

TEST(PlatformReader, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("summary: x"), "p.yaml:1: 'name' is missing");
  EXPECT_EQ(
      error_of("BACKEND: x\nW: {QSCHEME: per-tensor-affine}"),
      "p.yaml:1: this is a quantization config, not a platform; the command takes it with -c");
  EXPECT_EQ(error_of("name: x"),
            "p.yaml:1: 'config' is missing: the default settings of the platform");
  EXPECT_EQ(error_of("name: x\nweight: {}"),
            "p.yaml:2: weight: there is no key 'weight'; did you mean 'weights'?");
  EXPECT_THAT(error_of("name: x\noperators:\n  add: {form: scalling}"),
              HasSubstr("p.yaml:3: operators.add.form: expected one of layer, product, scaling"));
  EXPECT_THAT(error_of("name: x\nbased_on: tpu"),
              HasSubstr("p.yaml:2: based_on: there is no built-in platform 'tpu'"));
  EXPECT_THAT(error_of("name: x\nweights: {bits: []}"),
              HasSubstr("p.yaml:2: weights.bits: expected at least one number of bits"));
  EXPECT_THAT(error_of("- a"), HasSubstr("expected a platform"));
  EXPECT_THAT(error_of("name: a/../b"), HasSubstr("expected letters, digits and '_'"));
  EXPECT_THAT(error_of("name: x\nbased_on: qdq\noperators: {frobnicate: none}"),
              HasSubstr("the base platform has no operator 'frobnicate' to remove"));
  EXPECT_THAT(error_of("name: x\nplacement: {readers: some}"),
              HasSubstr("expected one of quantized, all, found 'some'"));
}

}  // namespace
}  // namespace sparsebit::platforms::platform_reader_test
