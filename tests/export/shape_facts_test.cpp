#include "export/shape_facts.h"

#include "export/export_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::shape_facts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The sizes of `%y` as text: numbers, symbols, or "?" for a dynamic size without a symbol.
std::vector<std::string> sizes_of_y(const std::string& lines, const OnnxExportOptions& options) {
  const auto module = parse_module(lines + "return %y\n");
  const ShapeFacts facts = find_shapes(*module, options);
  const fx::TensorInfo& y = *facts.find(*module->graph().find("y"))->tensor;
  std::vector<std::string> sizes;
  for (size_t i = 0; i < y.shape.size(); ++i) {
    const std::string symbol = i < y.symbols.size() ? y.symbols[i] : "";
    sizes.push_back(y.shape[i] >= 0 ? std::to_string(y.shape[i]) : symbol.empty() ? "?" : symbol);
  }
  return sizes;
}

/// x: float32[2, 8] with the symbols n and m.
OnnxExportOptions dynamic() {
  return {.inputs = {at::rand({2, 8})}, .dynamic_axes = {{"x", {{0, "n"}, {1, "m"}}}}};
}

struct Case {
  std::string name, lines;
  std::vector<std::string> sizes;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ShapeFactsOf : public testing::TestWithParam<Case> {};

TEST_P(ShapeFactsOf, DynamicSizes) {
  EXPECT_EQ(sizes_of_y("%x = input()\n" + GetParam().lines, dynamic()), GetParam().sizes);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, ShapeFactsOf,
    testing::Values(
        Case{"Elementwise", "%y = torch.relu(%x)\n", {"n", "m"}},
        Case{"Transposed", "%y = torch.transpose(%x, 0, 1)\n", {"m", "n"}},
        Case{"FixedOnes", "%y = torch.unsqueeze(%x, 1)\n", {"n", "1", "m"}},
        Case{"TwiceTheSizeIsNotTheSize", "%y = torch.cat([%x, %x], 0)\n", {"?", "m"}},
        Case{"Flattened", "%y = torch.flatten(%x)\n", {"?"}},
        Case{"APart", "%y = torch.narrow(%x, 1, 0, 1)\n", {"n", "1"}},
        Case{"DependsOnData", "%b = torch.gt(%x, 0.5)\n%y = torch.masked_select(%x, %b)\n", {"?"}}),
    [](const auto& info) { return info.param.name; });

TEST(FindShapes, InputsWithoutDynamicAxesAreFixed) {
  EXPECT_THAT(sizes_of_y("%x = input()\n%y = torch.relu(%x)\n", {.inputs = {at::rand({2, 8})}}),
              ElementsAre("2", "8"));
}

TEST(FindShapes, AxesCanBeCountedFromTheEnd) {
  EXPECT_THAT(sizes_of_y("%x = input()\n%y = torch.relu(%x)\n",
                         {.inputs = {at::rand({2, 8})}, .dynamic_axes = {{"x", {{-1, "m"}}}}}),
              ElementsAre("2", "m"));
}

TEST(FindShapes, ASymbolHasOneSize) {
  const auto module = parse_module("%a = input()\n%b = input()\nreturn (%a, %b)\n");
  EXPECT_THAT(
      [&] {
        find_shapes(*module, {.inputs = {at::ones({2}), at::ones({3})},
                              .dynamic_axes = {{"a", {{0, "n"}}}, {"b", {{0, "n"}}}}});
      },
      ThrowsMessage<Error>("the example inputs have the sizes 2 and 3 for 'n'"));
}

TEST(FindShapes, TooManyExamples) {
  const auto module = parse_module("%a = input()\nreturn %a\n");
  EXPECT_THAT(
      [&] {
        find_shapes(*module, {.inputs = {at::ones({2}), at::ones({3})}});
      },
      ThrowsMessage<Error>("the model has 1 inputs, got 2 example inputs"));
}

TEST(FindShapes, AModelThatFailsSaysWhy) {
  const auto module = parse_module("%x = input()\n%y = torch.reshape(%x, [5])\nreturn %y\n");
  EXPECT_THAT([&] { find_shapes(*module, {.inputs = {at::ones({2})}}); },
              ThrowsMessage<Error>(HasSubstr("while running the model to infer its shapes")));
}

}  // namespace
}  // namespace sparsebit::exports::test::shape_facts_test
