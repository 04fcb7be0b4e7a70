#include "frontends/onnx/naming.h"

#include <gtest/gtest.h>

namespace sparsebit::frontends::naming_test {
namespace {

TEST(OnnxNaming, PathsFromNodeNames) {
  EXPECT_EQ(path_from_node_name("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(path_from_node_name("/features/features.0/features.0.1/Relu"), "features.0.1");
  EXPECT_EQ(path_from_node_name("/layer1/0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(path_from_node_name("/fc/Gemm"), "fc");
  EXPECT_EQ(path_from_node_name("Conv_0"), "Conv_0");
  EXPECT_EQ(path_from_node_name("resnet/block 1/conv:0/Conv2D"), "resnet.block_1.conv.0");
  EXPECT_EQ(path_from_node_name(""), "");
  EXPECT_EQ(path_from_node_name("///"), "");
}

TEST(OnnxNaming, PathsFromWeightNames) {
  EXPECT_EQ(path_from_tensor_name("layer1.0.conv1.weight"), "layer1.0.conv1");
  EXPECT_EQ(path_from_tensor_name("stage1_conv0_weight"), "stage1_conv0");
  EXPECT_EQ(path_from_tensor_name("model/dense/kernel"), "model.dense");
  EXPECT_EQ(path_from_tensor_name("head.fc.weight_t"), "head.fc");
  EXPECT_EQ(path_from_tensor_name("193"), "");
  EXPECT_EQ(path_from_tensor_name(".weight"), "");
}

TEST(OnnxNaming, NamesInMessagesAreOneLine) {
  EXPECT_EQ(without_control_characters("a\nb\x7f\tc d"), "a?b??c d");
}

TEST(OnnxNaming, PathsHaveNoEmptyParts) {
  EXPECT_EQ(as_path("..a..b."), "a.b");
  EXPECT_EQ(as_path("a b/c"), "a_b.c");
}

}  // namespace
}  // namespace sparsebit::frontends::naming_test
