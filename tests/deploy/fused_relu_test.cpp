#include "deploy/fused_relu.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::fused_relu_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// For a graph with a convolution `c` of `x`, and constants named after their values.
std::map<std::string, std::string> found_in(const std::string& nodes) {
  onnx::GraphProto graph;
  const std::string constants =
      R"(initializer { name: "0" data_type: 1 float_data: 0 }
         initializer { name: "1" data_type: 1 float_data: 1 }
         initializer { name: "6" data_type: 1 float_data: 6 }
         initializer { name: "66" data_type: 1 dims: 2 float_data: [6, 6] }
         node { op_type: "Conv" input: "x" input: "w" output: "c" })";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(constants + nodes, &graph));
  return convolutions_before_relu(graph);
}

std::map<std::string, std::string> found_behind_clip(const std::string& bounds) {
  return found_in(R"(node { op_type: "Clip" input: "c" output: "r" )" + bounds + "}");
}

TEST(FusedRelu, ReluAndRelu6AreOneStepWithTheConvolution) {
  EXPECT_THAT(found_in(R"(node { op_type: "Relu" input: "c" output: "r" }
                          node { op_type: "Conv" input: "r" input: "w" output: "d" }
                          node { op_type: "Clip" input: "d" input: "0" input: "6" output: "s" })"),
              ElementsAre(Pair("r", "c"), Pair("s", "d")));
}

TEST(FusedRelu, OtherBoundsAreNoRelu6) {
  EXPECT_THAT(found_behind_clip(R"(input: "0" input: "6")"), ElementsAre(Pair("r", "c")));
  for (const char* bounds :
       {R"(input: "1" input: "6")", R"(input: "0" input: "1")", R"(input: "0")", "",
        R"(input: "" input: "6")", R"(input: "0" input: "66")", R"(input: "0" input: "x")"})
    EXPECT_THAT(found_behind_clip(bounds), IsEmpty()) << bounds;
}

/// With another consumer, the convolution's output needs its own range.
TEST(FusedRelu, AConvolutionWithOtherReadersStaysAStep) {
  EXPECT_THAT(found_in(R"(node { op_type: "Relu" input: "c" output: "r" }
                          node { op_type: "Add" input: "c" input: "r" output: "y" })"),
              IsEmpty());
  EXPECT_THAT(found_in(R"(node { op_type: "Relu" input: "c" output: "r" }
                          output { name: "c" } output { name: "r" })"),
              IsEmpty());
}

TEST(FusedRelu, OnlyConvolutionsAreFused) {
  EXPECT_THAT(found_in(R"(node { op_type: "ConvTranspose" input: "c" input: "w" output: "d" }
                          node { op_type: "Relu" input: "d" output: "r" }
                          node { op_type: "Relu" input: "x" output: "s" }
                          node { op_type: "Sigmoid" input: "c" output: "t" })"),
              IsEmpty());
}

}  // namespace
}  // namespace sparsebit::deploy::fused_relu_test
