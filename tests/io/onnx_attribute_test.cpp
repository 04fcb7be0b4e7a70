#include "sparsebit/io/onnx_attribute.h"

#include <gtest/gtest.h>

namespace sparsebit::io::onnx_attribute_test {
namespace {

using onnx::AttributeProto;

/// A branch of If with one node.
AttributeProto branch() {
  AttributeProto attribute;
  attribute.set_name("then_branch");
  attribute.set_type(AttributeProto::GRAPH);
  attribute.mutable_g()->add_node()->set_op_type("Relu");
  return attribute;
}

std::string bytes_after(const AttributeText& text) {
  const auto attribute = attribute_from_text(text.form, text.text);
  return attribute ? attribute->SerializeAsString() : "nothing";
}

TEST(OnnxAttribute, IsTextWhereTextSaysAll) {
  const AttributeText text = attribute_to_text(branch());
  EXPECT_EQ(text.form, "onnx");
  EXPECT_EQ(text.text, R"(name: "then_branch" g { node { op_type: "Relu" } } type: GRAPH )");
  EXPECT_EQ(bytes_after(text), branch().SerializeAsString());
}

/// metadata_props of a node, new in ONNX 1.16.
TEST(OnnxAttribute, KeepsFieldsOfNewerFiles) {
  AttributeProto attribute = branch();
  onnx::NodeProto& node = *attribute.mutable_g()->mutable_node(0);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(9, "\n\001k\022\001v");
  const AttributeText text = attribute_to_text(attribute);
  EXPECT_EQ(text.form, "onnx_base64");
  EXPECT_EQ(bytes_after(text), attribute.SerializeAsString());
}

TEST(OnnxAttribute, LargeOnesAreNotText) {
  AttributeProto attribute;
  attribute.set_name("weights");
  for (const size_t size : {(size_t{1} << 20) + 0, (size_t{1} << 20) + 1, (size_t{1} << 20) + 2}) {
    attribute.set_s(std::string(size, '\xFE'));
    const AttributeText text = attribute_to_text(attribute);
    EXPECT_EQ(text.form, "onnx_base64");
    EXPECT_LT(text.text.size(), size * 3 / 2);
    EXPECT_EQ(bytes_after(text), attribute.SerializeAsString());
  }
}

TEST(OnnxAttribute, WhatIsOfNoFormIsNothing) {
  EXPECT_FALSE(attribute_from_text("onnx", "name: 1 2"));
  EXPECT_FALSE(attribute_from_text("onnx_base64", "AAA"));
  EXPECT_FALSE(attribute_from_text("onnx_base64", "A*AA"));
  EXPECT_FALSE(attribute_from_text("onnx_base64", "////"));
  EXPECT_FALSE(attribute_from_text("json", "{}"));
}

}  // namespace
}  // namespace sparsebit::io::onnx_attribute_test
