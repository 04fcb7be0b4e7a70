// Unsupported operators, which are carried through the graph unchanged.

#include "core/temp_dir.h"
#include "frontends/onnx/model_builder.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/onnx_attribute.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::frontends::carried_test {
namespace {

using onnx::AttributeProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using testing::ThrowsMessage;

constexpr const char* kChoice =
    "(bool c, float[2] x) => (float[2] y) {"
    " y = If <then_branch = t () => (float[2] r) { r = Neg (x) },"
    "         else_branch = e () => (float[2] q) { q = Abs (x) }> (c) }";

const fx::Node& find_call(const fx::GraphModule& module, const std::string& target) {
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.target() == target) return node;
  }
  throw std::runtime_error("no call of " + target);
}

/// The attribute that is stored as a Dict in the graph.
AttributeProto attribute_of(const fx::Node& node, const std::string& name) {
  const auto& [form, text] = node.kwarg(name)->get<fx::Dict>().items.at(0);
  return io::attribute_from_text(form, text.string()).value();
}

TensorProto external(int type, int64_t size, const std::string& location) {
  TensorProto tensor;
  tensor.set_name("far");
  tensor.set_data_type(type);
  tensor.add_dims(size);
  tensor.set_data_location(TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value(location);
  return tensor;
}

TEST(OnnxCarried, FieldsOfNewerFilesSurvive) {
  ModelProto model = test::model_from_text(kChoice);
  NodeProto& inner =
      *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0);
  inner.GetReflection()->MutableUnknownFields(&inner)->AddLengthDelimited(9, "\n\001k\022\001v");
  const std::string before = model.graph().node(0).attribute(0).SerializeAsString();
  const auto module = import_onnx(std::move(model));
  const fx::Node& choice = find_call(*module, "onnx.If");
  EXPECT_EQ(choice.kwarg("then_branch")->get<fx::Dict>().items.at(0).first, "onnx_base64");
  EXPECT_EQ(attribute_of(choice, "then_branch").SerializeAsString(), before);
  EXPECT_EQ(choice.kwarg("else_branch")->get<fx::Dict>().items.at(0).first, "onnx");
}

TEST(OnnxCarried, NodesHaveTheNamesOfTheFile) {
  ModelProto model = test::model_from_text(kChoice);
  model.mutable_graph()->mutable_node(0)->set_name("/head/Pick");
  EXPECT_EQ(find_call(*import_onnx(std::move(model)), "onnx.If").name(), "head_Pick");
}

TEST(OnnxCarried, ExternalDataIsTakenAlong) {
  const test::TempDir dir;
  write_file_atomically(dir / "w.bin", std::string("\1\0\2\0", 4));
  ModelProto model = test::model_from_text(kChoice);
  onnx::GraphProto& branch =
      *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  *branch.add_initializer() = external(TensorProto::FLOAT, 1, "w.bin");
  *model.mutable_graph()->add_initializer() = external(TensorProto::UINT16, 2, "w.bin");
  NodeProto& reader = *model.mutable_graph()->add_node();
  reader.set_op_type("Identity");
  reader.add_input("far");
  reader.add_output("near");
  model.mutable_graph()->add_output()->set_name("near");
  const auto module = import_onnx(std::move(model), {.name = "m.onnx", .folder = dir.path()});

  const AttributeProto constant = attribute_of(find_call(*module, "onnx.Constant"), "value");
  EXPECT_EQ(constant.t().raw_data(), std::string("\1\0\2\0", 4));
  EXPECT_FALSE(constant.t().has_data_location());
  const AttributeProto then = attribute_of(find_call(*module, "onnx.If"), "then_branch");
  EXPECT_EQ(then.g().initializer(0).raw_data(), std::string("\1\0\2\0", 4));
}

TEST(OnnxCarried, ExternalDataOfSparseTensorsIsTakenAlong) {
  const test::TempDir dir;
  write_file_atomically(dir / "w.bin", std::string("\1\0\2\0", 4) + std::string(100, '\0'));
  write_file_atomically(dir / "i.bin", std::string(100, '\0'));
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = external(TensorProto::FLOAT, 1, "w.bin");
  *sparse.mutable_indices() = external(TensorProto::INT64, 1, "i.bin");
  sparse.add_dims(4);
  ModelProto model = test::model_from_text(kChoice);
  onnx::GraphProto& branch =
      *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  *branch.add_sparse_initializer() = sparse;
  *branch.mutable_node(0)->add_attribute()->add_sparse_tensors() = sparse;
  *model.mutable_graph()->add_sparse_initializer() = sparse;
  model.mutable_graph()->add_output()->set_name("far");
  const auto module = import_onnx(std::move(model), {.name = "m.onnx", .folder = dir.path()});

  const auto expect_inside = [](const onnx::SparseTensorProto& tensor) {
    EXPECT_EQ(tensor.values().raw_data(), std::string("\1\0\2\0", 4));
    EXPECT_FALSE(tensor.values().has_data_location());
    EXPECT_EQ(tensor.indices().raw_data(), std::string(8, '\0'));
    EXPECT_FALSE(tensor.indices().has_data_location());
  };
  const AttributeProto constant = attribute_of(find_call(*module, "onnx.Constant"), "sparse_value");
  expect_inside(constant.sparse_tensor());
  const AttributeProto then = attribute_of(find_call(*module, "onnx.If"), "then_branch");
  expect_inside(then.g().sparse_initializer(0));
  expect_inside(then.g().node(0).attribute(0).sparse_tensors(0));
}

TEST(OnnxCarried, ExternalDataStaysInTheModelsFolder) {
  const test::TempDir dir;
  ModelProto model = test::model_from_text("(float[2] x) => (float[2] y) { y = Relu (x) }");
  *model.mutable_graph()->add_initializer() = external(TensorProto::UINT16, 2, "../secret");
  EXPECT_THAT([&] { import_onnx(std::move(model), {.name = "m.onnx", .folder = dir.path()}); },
              ThrowsMessage<Error>(
                  "m.onnx: external data '../secret' is not a file in the model's own folder"));
}

TEST(OnnxCarried, DomainsOfSubgraphsAreNoted) {
  ModelProto model = test::model_from_text(kChoice);
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain("deep.ops");
  set.set_version(5);
  onnx::GraphProto& branch =
      *model.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g();
  branch.mutable_node(0)->set_domain("custom.ops");
  AttributeProto& inner = *branch.mutable_node(0)->add_attribute();
  inner.set_name("body");
  inner.mutable_g()->add_node()->set_domain("deep.ops");
  const auto module = import_onnx(std::move(model));
  const fx::Value* domains = find_call(*module, "onnx.If").kwarg("_domains");
  ASSERT_TRUE(domains);
  EXPECT_TRUE(domains->same_as(fx::Dict{{"custom.ops", 3}, {"deep.ops", 5}}));

  const auto plain = import_onnx(test::model_from_text(kChoice));
  EXPECT_EQ(find_call(*plain, "onnx.If").kwarg("_domains"), nullptr);
}

}  // namespace
}  // namespace sparsebit::frontends::carried_test
