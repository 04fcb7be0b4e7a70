#include "sparsebit/fx/ops/operator.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/data_sizes.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::fx::operator_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Value nothing(const Args&) { return None(); }

TEST(OperatorTable, FormsResolveToOneDefinition) {
  const Operator* relu = operators().find_operator("relu");
  for (const char* spelling :
       {"torch.relu", "torch.nn.functional.relu", "Tensor.relu", "Tensor.relu_", "torch.nn.ReLU"}) {
    EXPECT_EQ(operators().get(spelling).op, relu) << spelling;
  }
  EXPECT_TRUE(operators().get("Tensor.relu_").inplace);
  EXPECT_NE(operators().get("torch.nn.ReLU").module, nullptr);
}

TEST(OperatorTable, UnknownSpellingsAreSuggested) {
  EXPECT_THAT(
      [] { operators().get("torch.relo"); },
      ThrowsMessage<Error>(HasSubstr("unknown operator 'torch.relo'; did you mean 'torch.relu'")));
}

TEST(OperatorTable, MistakesInEntriesAreFoundAtStart) {
  OperatorTable table;
  table.add({.name = "a", .schema = "input", .forms = {"x.a"}, .kernel = nothing});
  EXPECT_THAT([&] { table.add({.name = "a", .schema = "input", .kernel = nothing}); },
              ThrowsMessage<Error>("operator 'a' is registered twice"));
  EXPECT_THAT(
      [&] { table.add({.name = "b", .schema = "input", .forms = {"x.a"}, .kernel = nothing}); },
      ThrowsMessage<Error>("operator 'x.a' is registered twice"));
  EXPECT_THAT([&] { table.add({.name = "c", .schema = "input"}); },
              ThrowsMessage<Error>("operator 'c' has no kernel"));
  EXPECT_THAT(
      [&] {
        table.add({.name = "d", .schema = "input", .forms = {{"x.d", "other"}}, .kernel = nothing});
      },
      ThrowsMessage<Error>(
          "operator 'd': 'x.d' has an argument 'other' that the operator does not have"));
  EXPECT_THAT(
      [&] { table.add({.name = "e", .schema = "input", .inplace = {"x.e_"}, .kernel = nothing}); },
      ThrowsMessage<Error>(
          "operator 'e': 'x.e_' is an in-place form, so the operator needs an argument "
          "'inplace'"));
  EXPECT_THAT(
      [&] {
        table.add({.name = "f",
                   .schema = "input",
                   .modules = {{.type = "x.F", .constructor = "gain=1.0"}},
                   .kernel = nothing});
      },
      ThrowsMessage<Error>(
          "operator 'f': attribute 'gain' of x.F is not an argument of the operator, so it would "
          "be ignored; add it to the schema or to `descriptive`"));
}

TEST(OperatorTable, ARefusedEntryLeavesNothingBehind) {
  OperatorTable table;
  EXPECT_THROW(table.add({.name = "f",
                          .schema = "input",
                          .forms = {"x.f"},
                          .modules = {{.type = "x.F", .constructor = "gain=1.0"}},
                          .kernel = nothing}),
               Error);
  EXPECT_EQ(table.find_operator("f"), nullptr);
  EXPECT_EQ(table.find("x.f"), nullptr);
}

TEST(OperatorTable, KernelErrorsGainTheOperatorAndShapes) {
  const Spelling& matmul = operators().get("torch.matmul");
  const std::vector<Value> args = {at::ones({2, 3}), at::ones({4, 5})};
  EXPECT_THAT(
      [&] { run_kernel(*matmul.op, bind_call(matmul, args, {})); },
      ThrowsMessage<Error>(
          "PyTorch refused this: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)\n"
          "  in operator 'matmul' with input=Tensor[2, 3] float32, other=Tensor[4, 5] float32"));
}

TEST(DataSizes, OperatorsThatTakeSizesAsTensorsAreListed) {
  const std::set<std::string> sizing = {"axes",         "depth", "ends",    "K",      "limit",
                                        "output_shape", "pads",  "repeats", "scales", "shape",
                                        "size",         "sizes", "split",   "starts", "steps"};
  // These take such arguments as attributes, which are known when the graph is written.
  const std::set<std::string> fixed = {"onnx.AveragePool", "onnx.ConvInteger", "onnx.LpPool",
                                       "onnx.MaxPool", "onnx.QLinearConv"};
  for (const Operator* op : operators().all()) {
    if (!op->name.starts_with("onnx.") || fixed.contains(op->name)) continue;
    for (const Parameter& parameter : op->schema.parameters()) {
      const bool listed = !sizing.contains(parameter.name) || can_be_data_sized(op->name);
      EXPECT_TRUE(listed) << op->name << ", " << parameter.name;
    }
  }
}

}  // namespace
}  // namespace sparsebit::fx::operator_test
