#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::recognize_layer_norm_test {
namespace {

using test::simplified;
using test::Tensors;
using testing::HasSubstr;
using testing::Not;

TEST(RecognizeLayerNorm, AsExportersWriteIt) {
  for (const char* middle : {"%q = torch.pow(%d, 2.0)", "%q = torch.mul(%d, %d)"}) {
    const std::string text = std::string(R"(
      %x = input()
      %m = torch.mean(%x, [1], True)
      %d = torch.sub(%x, %m)
      )") + middle + R"(
      %v = torch.mean(%q, [-1], True)
      %e = torch.add(%v, 1e-05)
      %s = torch.sqrt(%e)
      %n = torch.div(%d, %s)
      %w = self.weight
      %b = self.bias
      %y = torch.mul(%n, %w)
      %z = torch.add(%y, %b)
      return %z)";
    EXPECT_EQ(simplified("recognize_layer_norm", text, {},
                         {{"weight", at::randn({4})}, {"bias", at::randn({4})}}),
              "%x = input()\n%w = self.weight\n%b = self.bias\n"
              "%layer_norm = torch.nn.functional.layer_norm(%x, [4], %w, %b, 1e-05)\n"
              "return %layer_norm\n");
  }
}

TEST(RecognizeLayerNorm, OtherAxesAndOtherReadersStay) {
  const std::string text = R"(
      %x = input()
      %m = torch.mean(%x, [AXIS], True)
      %d = torch.sub(%x, %m)
      %q = torch.pow(%d, 2)
      %v = torch.mean(%q, [AXIS], True)
      %e = torch.add(%v, 1e-05)
      %s = torch.sqrt(%e)
      %n = torch.div(%d, %s)
      %w = self.weight
      %y = torch.mul(%n, %w)
      %z = torch.add(%y, %w)
      return RESULT)";
  const auto with = [&](const std::string& axis, const std::string& result) {
    std::string filled = text;
    for (size_t at; (at = filled.find("AXIS")) != std::string::npos;) filled.replace(at, 4, axis);
    return filled.replace(filled.find("RESULT"), 6, result);
  };
  const Tensors weight = {{"weight", at::randn({4})}};
  EXPECT_THAT(simplified("recognize_layer_norm", with("-1", "%z"), {}, weight),
              HasSubstr("layer_norm"));
  EXPECT_THAT(simplified("recognize_layer_norm", with("0", "%z"), {}, weight),
              Not(HasSubstr("layer_norm")));
  EXPECT_THAT(simplified("recognize_layer_norm", with("-1", "(%z, %v)"), {}, weight),
              Not(HasSubstr("layer_norm")));
}

TEST(RecognizeLayerNorm, OneWeightForAllStaysBehindIt) {
  const std::string text = R"(
      %x = input()
      %m = torch.mean(%x, [-1], True)
      %d = torch.sub(%x, %m)
      %q = torch.pow(%d, 2)
      %v = torch.mean(%q, [-1], True)
      %e = torch.add(%v, 1e-05)
      %s = torch.sqrt(%e)
      %n = torch.div(%d, %s)
      %w = self.weight
      %y = torch.mul(%n, %w)
      %z = torch.add(%y, %w)
      return %z)";
  EXPECT_EQ(simplified("recognize_layer_norm", text, {}, {{"weight", at::randn({1})}}),
            "%x = input()\n"
            "%layer_norm = torch.nn.functional.layer_norm(%x, [4], None, None, 1e-05)\n"
            "%w = self.weight\n%y = torch.mul(%layer_norm, %w)\n%z = torch.add(%y, %w)\n"
            "return %z\n");
}

TEST(RecognizeLayerNorm, WithTorchVar) {
  const auto text = [](const std::string& how) {
    return "%x = input()\n%m = torch.mean(%x, [-1], True)\n%d = torch.sub(%x, %m)\n%v = "
           "torch.var(%x, " +
           how +
           ")\n%e = torch.add(%v, 1e-05)\n%s = torch.sqrt(%e)\n%n = torch.div(%d, %s)\nreturn %n";
  };
  const char* expected =
      "%x = input()\n"
      "%layer_norm = torch.nn.functional.layer_norm(%x, [4], None, None, 1e-05)\n"
      "return %layer_norm\n";
  for (const char* how : {"[-1], unbiased=False, keepdim=True", "[1], correction=0, keepdim=True"})
    EXPECT_EQ(simplified("recognize_layer_norm", text(how)), expected) << how;
  // A variance that is unbiased, or over another axis, is not that of a layer norm.
  for (const char* how : {"[-1], unbiased=True, keepdim=True", "[-1], correction=1, keepdim=True",
                          "[-1], unbiased=False, keepdim=True, correction=1"})
    EXPECT_THAT(simplified("recognize_layer_norm", text(how)), Not(HasSubstr("layer_norm"))) << how;
}

// Exporters write rsqrt as 1 / sqrt(x).
TEST(RecognizeLayerNorm, TimesOneByTheRoot) {
  for (const char* inverse : {"torch.reciprocal(%s)", "torch.div(1.0, %s)"}) {
    EXPECT_THAT(
        simplified("recognize_layer_norm",
                   std::string("%x = input()\n%m = torch.mean(%x, [-1], True)\n"
                               "%d = torch.sub(%x, %m)\n%q = torch.mul(%d, %d)\n"
                               "%v = torch.mean(%q, [-1], True)\n%e = torch.add(%v, 1e-05)\n"
                               "%s = torch.sqrt(%e)\n%i = ") +
                       inverse + "\n%n = torch.mul(%d, %i)\nreturn %n"),
        HasSubstr("layer_norm(%x, [4], None, None, 1e-05)"))
        << inverse;
  }
}

TEST(RecognizeLayerNorm, AnotherPowerIsNoSquare) {
  EXPECT_THAT(simplified("recognize_layer_norm", R"(
      %x = input()
      %m = torch.mean(%x, [-1], True)
      %d = torch.sub(%x, %m)
      %q = torch.pow(%d, 4)
      %v = torch.mean(%q, [-1], True)
      %e = torch.add(%v, 1e-05)
      %s = torch.sqrt(%e)
      %n = torch.div(%d, %s)
      return %n)"),
              Not(HasSubstr("layer_norm")));
}

}  // namespace
}  // namespace sparsebit::passes::recognize_layer_norm_test
