// Inputs and outputs of exported graphs.

#include "export/export_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::signature_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

onnx::GraphProto exported(const std::string& lines, OnnxExportOptions options = {}) {
  options.inputs = {at::rand({2, 4})};
  return to_onnx(*parse_module("%x = input()\n" + lines), options).graph();
}

struct Case {
  std::string name, lines;
  std::vector<std::string> outputs;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class OutputsOf : public testing::TestWithParam<Case> {};

TEST_P(OutputsOf, AreFlattenedInOrder) {
  const onnx::GraphProto graph = exported(GetParam().lines);
  std::vector<std::string> names;
  for (const auto& output : graph.output()) names.push_back(output.name());
  EXPECT_EQ(names, GetParam().outputs);
}

INSTANTIATE_TEST_SUITE_P(
    Results, OutputsOf,
    testing::Values(
        Case{"One", "%y = torch.relu(%x)\nreturn %y\n", {"y"}},
        Case{"Tuple", "%y = torch.relu(%x)\n%z = torch.neg(%x)\nreturn (%z, %y)\n", {"z", "y"}},
        Case{"NestedTuple",
             "%y = torch.relu(%x)\n%z = torch.neg(%x)\nreturn ((%z, None), %y)\n",
             {"z", "y"}},
        Case{"PartsOfASplit", "%y = torch.chunk(%x, 2)\nreturn %y\n", {"y.0", "y.1"}},
        // Every output has a name of its own, and none that of an input.
        Case{"Twice", "%y = torch.relu(%x)\nreturn (%y, %y)\n", {"y", "y_1"}},
        Case{"TheInput", "%y = torch.relu(%x)\nreturn (%x, %y)\n", {"x_1", "y"}},
        Case{"ANumber", "%y = torch.relu(%x)\nreturn (%y, 3)\n", {"y", "output_1"}}),
    [](const auto& info) { return info.param.name; });

TEST(Outputs, NamesAreThoseAskedFor) {
  const onnx::GraphProto graph = exported("%y = torch.relu(%x)\nreturn (%y, %y, %x)\n",
                                          {.output_names = {"first", "second", "y"}});
  ASSERT_EQ(graph.output_size(), 3);
  EXPECT_EQ(graph.output(0).name(), "first");
  EXPECT_EQ(graph.output(1).name(), "second");
  EXPECT_EQ(graph.output(2).name(), "y");
}

TEST(Outputs, HaveTypesAndSizes) {
  const onnx::GraphProto graph =
      exported("%y = torch.argmax(%x, 1)\nreturn %y\n", {.dynamic_axes = {{"x", {{0, "n"}}}}});
  const auto& type = graph.output(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::INT64);
  ASSERT_EQ(type.shape().dim_size(), 1);
  EXPECT_EQ(type.shape().dim(0).dim_param(), "n");
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(1).dim_value(), 4);
}

TEST(Outputs, OfATextAreRefused) {
  EXPECT_THAT([] { exported("%y = torch.relu(%x)\nreturn (%y, \"text\")\n"); },
              ThrowsMessage<Error>(HasSubstr("which cannot be an ONNX output")));
}

}  // namespace
}  // namespace sparsebit::exports::test::signature_test
