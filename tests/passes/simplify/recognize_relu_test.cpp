#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::recognize_relu_test {
namespace {

using test::simplified;

const test::Tensors kNumbers = {
    {"zero", at::zeros({})}, {"six", at::full({1}, 6.)}, {"row", at::zeros({4})}};

std::string of_step(const std::string& step) {
  return simplified("recognize_relu",
                    "%x = input()\n%z = self.zero\n%s = self.six\n%r = self.row\n%y = " + step +
                        "\nreturn (%y, %z, %s, %r)",
                    {}, kNumbers);
}

std::string result(const std::string& step) {
  return "%x = input()\n%z = self.zero\n%s = self.six\n%r = self.row\n%" + step;
}

TEST(RecognizeRelu, BoundsOfOneStep) {
  const std::string relu = result("relu = torch.relu(%x)\nreturn (%relu, %z, %s, %r)\n");
  const std::string relu6 =
      result("relu6 = torch.nn.functional.relu6(%x)\nreturn (%relu6, %z, %s, %r)\n");
  for (const char* step : {"torch.clamp(%x, min=0)", "torch.clamp(%x, %z)", "torch.maximum(%x, %z)",
                           "%x.clamp_min(0.0)"})
    EXPECT_EQ(of_step(step), relu) << step;
  for (const char* step : {"torch.clamp(%x, 0, 6)", "torch.clamp(%x, %z, %s)",
                           "torch.nn.functional.hardtanh(%x, 0.0, 6.0)"})
    EXPECT_EQ(of_step(step), relu6) << step;
}

TEST(RecognizeRelu, OtherBoundsStay) {
  for (const char* step :
       {"torch.clamp(%x, -1, 6)", "torch.clamp(%x, 0, 5)", "torch.clamp(%x, max=6)",
        "torch.maximum(%x, %r)", "torch.minimum(%x, %z)"})
    EXPECT_EQ(of_step(step), result("y = " + std::string(step) + "\nreturn (%y, %z, %s, %r)\n"));
}

TEST(RecognizeRelu, AReluAndALimit) {
  const auto chain = [](const std::string& step) {
    return simplified(
        "recognize_relu",
        "%x = input()\n%s = self.six\n%a = torch.relu(%x)\n%y = " + step + "\nreturn (%y, %s)", {},
        kNumbers);
  };
  for (const char* step : {"torch.clamp(%a, 0, 6)", "torch.clamp(%a, max=6)",
                           "torch.minimum(%a, %s)", "torch.nn.functional.relu6(%a)"})
    EXPECT_EQ(chain(step),
              "%x = input()\n%s = self.six\n%relu6 = torch.nn.functional.relu6(%x)\n"
              "return (%relu6, %s)\n")
        << step;
  EXPECT_EQ(chain("torch.clamp(%a, -1, 4)"),
            "%x = input()\n%s = self.six\n%clamp = torch.clamp(%x, 0.0, 4.0)\n"
            "return (%clamp, %s)\n");
}

// float32 with a float64 bound that has an axis gives float64.
TEST(RecognizeRelu, ABoundThatChangesTheTypeStays) {
  const test::Tensors zero = {{"z", at::zeros({1}, at::kDouble)}};
  for (const char* step : {"torch.maximum(%x, %z)", "torch.clamp(%x, %z)"}) {
    const std::string text =
        std::string("%x = input()\n%z = self.z\n%y = ") + step + "\nreturn %y\n";
    EXPECT_EQ(simplified("recognize_relu", text, {}, zero), text);
  }
}

TEST(RecognizeRelu, IntegersStay) {
  const std::string text =
      "%x = input()\n%i = %x.to(torch.int64)\n%y = torch.clamp(%i, 0, 6)\nreturn %y\n";
  EXPECT_EQ(simplified("recognize_relu", text), text);
}

}  // namespace
}  // namespace sparsebit::passes::recognize_relu_test
