#include "sparsebit/data/model_facts.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::data::model_facts_test {
namespace {

std::unique_ptr<fx::GraphModule> graph_of(const std::string& text) {
  auto module = std::make_unique<fx::GraphModule>(fx::parse_graph(text), "Case");
  module->add_parameter("w", at::ones({4, 3, 1, 1}));
  module->add_parameter("mean",
                        at::tensor({123.7, 116.3, 103.5}).to(at::kFloat).view({1, 3, 1, 1}));
  module->add_parameter("unit_mean",
                        at::tensor({0.485, 0.456, 0.406}).to(at::kFloat).view({3, 1, 1}));
  module->add_parameter("std", at::tensor({0.229, 0.224, 0.225}).to(at::kFloat).view({3, 1, 1}));
  module->add_parameter("table", at::ones({30, 5}));
  return module;
}

/// The first nodes of a model, and the pixel range that they normalize; 0: none.
struct Row {
  const char* steps;
  double range;
};

TEST(ModelFacts, ModelsThatNormalizePixels) {
  const std::vector<Row> rows = {
      {"%n = torch.div(%x, 255.0)", 255},
      {"%m = torch.mul(%x, 0.00392)\n%n = torch.sub(%m, 0.5)", 255},
      {"%m = torch.div(%x, 127.5)\n%n = torch.sub(%m, 1.0)", 255},
      {"%t = self.mean\n%n = torch.sub(%x, %t)", 255},
      {"%t = self.unit_mean\n%s = self.std\n%m = torch.sub(%x, %t)\n%n = torch.div(%m, %s)", 1},
      {"%m = torch.mul(%x, 2.0)\n%n = torch.sub(%m, 1.0)", 1},
      {"%f = %x.float()\n%m = torch.mul(2.0, %f)\n%n = torch.add(%m, -1.0)", 1},
      {"%n = torch.mul(%x, 0.458)", 0},  // torchvision's Inception starts like this
      {"%n = torch.relu(%x)", 0},
      {"%n = torch.add(%x, 1.0)", 0},
      {"%n = torch.div(1.0, %x)", 0},
  };
  for (const Row& row : rows) {
    const auto module = graph_of(std::string("%x = input()\n%w = self.w\n") + row.steps +
                                 "\n%y = torch.conv2d(%n, %w)\nreturn %y");
    const ModelFacts facts = facts_of(*module);
    const auto found = facts.own_ranges.find("x");
    EXPECT_EQ(found == facts.own_ranges.end() ? 0 : found->second, row.range) << row.steps;
  }
}

TEST(ModelFacts, TablesAndOutputs) {
  const auto module = graph_of(R"(
    %ids = input()
    %t = self.table
    %y = torch.nn.functional.embedding(%ids, %t)
    return %y)");
  fx::record_shapes(*module, {at::zeros({2, 7}, at::kLong)});
  const ModelFacts facts = facts_of(*module);
  EXPECT_EQ(facts.table_rows.at("ids"), 30);
  ASSERT_EQ(facts.outputs.size(), 1u);
  EXPECT_EQ(facts.outputs[0].shape, (std::vector<int64_t>{2, 7, 5}));
}

}  // namespace
}  // namespace sparsebit::data::model_facts_test
