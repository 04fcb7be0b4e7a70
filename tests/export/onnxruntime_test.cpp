#include "support/ort.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::onnxruntime_test {
namespace {

using sparsebit::test::OrtCase;
using sparsebit::test::OrtResult;
using sparsebit::test::run_onnxruntime;
using sparsebit::test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

void add_value(onnx::ValueInfoProto& info, const std::string& name, int type) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

/// y = Reshape(x, -1), and x itself: two outputs of one type.
void save_model(const std::filesystem::path& path, at::ScalarType dtype) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  *graph.add_initializer() = io::to_tensor_proto(at::tensor({int64_t{-1}}), "flat");
  onnx::NodeProto& reshape = *graph.add_node();
  reshape.set_op_type("Reshape");
  for (const char* name : {"x", "flat"}) reshape.add_input(name);
  reshape.add_output("y");
  onnx::NodeProto& identity = *graph.add_node();
  identity.set_op_type("Identity");
  identity.add_input("x");
  identity.add_output("z");
  const int type = io::onnx_type_of(dtype);
  add_value(*graph.add_input(), "x", type);
  for (const char* name : {"y", "z"}) add_value(*graph.add_output(), name, type);
  io::save_onnx(model, path);
}

TEST(OnnxRuntime, ValuesOfAllTypesPassThrough) {
  const TempDir dir;
  const at::Tensor values = at::tensor({-2.5, 0.0, 1.0, 100.25, 3.0, 0.5}).reshape({2, 3});
  std::vector<OrtCase> cases;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kChar, at::kShort,
                                     at::kInt, at::kLong, at::kByte, at::kBool}) {
    const std::filesystem::path path = dir / (std::string(c10::toString(dtype)) + ".onnx");
    save_model(path, dtype);
    cases.push_back({.model = path, .inputs = {{"x", values.abs().to(dtype)}}});
  }
  save_model(dir / "scalar.onnx", at::kFloat);
  cases.push_back({.model = dir / "scalar.onnx", .inputs = {{"x", at::scalar_tensor(2.f)}}});
  cases.push_back({.model = dir / "scalar.onnx", .inputs = {{"x", at::empty({0, 3})}}});

  const std::vector<OrtResult> results = run_onnxruntime(cases);

  ASSERT_EQ(results.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].model);
    const at::Tensor& x = cases[i].inputs.at("x");
    EXPECT_EQ(results[i].error, "");
    ASSERT_THAT(results[i].names, ElementsAre("y", "z"));
    EXPECT_EQ(results[i].outputs[0].scalar_type(), x.scalar_type());
    EXPECT_TRUE(at::equal(results[i].outputs[0], x.flatten()));
    EXPECT_TRUE(at::equal(results[i].outputs[1], x));
  }
}

TEST(OnnxRuntime, EveryLevelOfOptimizationIsAccepted) {
  const TempDir dir;
  save_model(dir / "m.onnx", at::kFloat);
  std::vector<OrtCase> cases;
  for (const char* level : {"disable", "basic", "all"}) {
    cases.push_back({.model = dir / "m.onnx", .inputs = {{"x", at::ones({2})}}, .optimize = level});
  }
  for (const OrtResult& result : run_onnxruntime(cases)) EXPECT_EQ(result.error, "");
}

TEST(OnnxRuntime, ABadModelDoesNotStopTheOthers) {
  const TempDir dir;
  write_file_atomically(dir / "bad.onnx", "no model");
  save_model(dir / "good.onnx", at::kFloat);
  const std::vector<OrtResult> results =
      run_onnxruntime({{.model = dir / "bad.onnx", .inputs = {}},
                       {.model = dir / "good.onnx", .inputs = {}},
                       {.model = dir / "good.onnx", .inputs = {{"x", at::ones({1})}}}});
  EXPECT_THAT(results[0].error, HasSubstr("bad.onnx"));
  EXPECT_THAT(results[1].error, HasSubstr("'x'"));
  EXPECT_EQ(results[2].error, "");
}

}  // namespace
}  // namespace sparsebit::exports::test::onnxruntime_test
