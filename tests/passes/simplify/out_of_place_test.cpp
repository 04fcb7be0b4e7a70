#include "passes/pass_case.h"

#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::out_of_place_test {
namespace {

using test::model_of;
using test::random_input;
using test::run_and_compare;
using test::simplified;

TEST(OutOfPlace, FunctionsMethodsAndOperators) {
  EXPECT_EQ(simplified("out_of_place", R"(
      %x = input()
      %a = torch.abs(%x)
      %b = %a.add_(1)
      %c = torch.relu_(%b)
      %d = operator.iadd(%c, %x)
      %e = torch.nn.functional.hardtanh(%d, -1.0, 1.0, True)
      %f = torch.nn.functional.silu(%e, inplace=True)
      return %f)"),
            "%x = input()\n%a = torch.abs(%x)\n%b = %a.add(1)\n%c = torch.relu(%b)\n"
            "%d = operator.add(%c, %x)\n"
            "%e = torch.nn.functional.hardtanh(%d, -1.0, 1.0, False)\n"
            "%f = torch.nn.functional.silu(%e)\nreturn %f\n");
}

TEST(OutOfPlace, ModulesOfOthersStayAsTheyAre) {
  const fx::ModulePtr relu = nn::ReLU({{"inplace", true}});
  const auto module = model_of(
      "%x = input()\n%a = torch.neg(%x)\n%b = self.act(%a)\n%c = torch.neg(%b)\n"
      "%d = self.act(%c)\nreturn %d",
      {{"act", relu}});
  run_and_compare(*module, {"out_of_place"}, {random_input({3})});
  EXPECT_FALSE(module->find_attribute("act.inplace")->to_bool());
  EXPECT_TRUE(relu->attribute("inplace").to_bool());
}

TEST(OutOfPlace, WritesThatOthersSeeStay) {
  const std::string seen =
      "%x = input()\n%a = torch.abs(%x)\n%b = %a.add_(1)\n%c = torch.mul(%a, %b)\nreturn %c\n";
  EXPECT_EQ(simplified("out_of_place", seen), seen);
  const std::string view =
      "%x = input()\n%a = torch.abs(%x)\n%v = %a.view(-1)\n%b = %a.add_(1)\n"
      "%c = torch.neg(%v)\nreturn (%b, %c)\n";
  EXPECT_EQ(simplified("out_of_place", view), view);
  const std::string input = "%x = input()\n%b = %x.add_(1)\nreturn %b\n";
  EXPECT_EQ(simplified("out_of_place", input), input);
}

// Tracing turns numbers into 0-d tensors of int64 or float64.
TEST(OutOfPlace, NumbersThatAreTensors) {
  const test::Tensors numbers = {{"i", at::scalar_tensor(1, at::kLong)},
                                 {"f", at::scalar_tensor(2., at::kDouble)}};
  EXPECT_EQ(simplified("out_of_place",
                       "%x = input()\n%i = self.i\n%f = self.f\n%a = torch.abs(%x)\n"
                       "%b = %a.add_(%i)\n%c = %b.mul_(%f)\nreturn %c\n",
                       {}, numbers),
            "%x = input()\n%i = self.i\n%f = self.f\n%a = torch.abs(%x)\n"
            "%b = %a.add(%i)\n%c = %b.mul(%f)\nreturn %c\n");
  // A 0-d float32 becomes float64 when a float64 is added.
  const std::string one =
      "%x = input()\n%f = self.f\n%a = torch.sum(%x)\n%b = %a.add_(%f)\nreturn %b\n";
  EXPECT_EQ(simplified("out_of_place", one, {}, numbers), one);
}

TEST(OutOfPlace, ATypeThatWouldChangeStays) {
  // float16 += float32 stays float16; float16 + float32 is float32.
  const std::string text = "%x = input()\n%a = %x.half()\n%b = %a.add_(%x)\nreturn %b\n";
  EXPECT_EQ(simplified("out_of_place", text), text);
}

// The result of a pure operator would have another type or another meaning.
TEST(OutOfPlace, OtherOperatorsStay) {
  for (const char* write : {"logical_not_()", "bernoulli_()", "cumsum_(0)"}) {
    const auto module =
        model_of(std::string("%x = input()\n%a = torch.abs(%x)\n%b = %a.") + write + "\nreturn %b");
    EXPECT_TRUE(run_selected(*module, {"out_of_place"}).changes.empty()) << write;
  }
}

// torch.positive returns its input itself, so that both change.
TEST(OutOfPlace, AliasesOfEveryKindAreKnown) {
  const std::string shuffled =
      "%x = input()\n%a = torch.abs(%x)\n%g = torch.channel_shuffle(%a, 1)\n"
      "%b = %a.neg_()\nreturn (%g, %b)\n";
  EXPECT_EQ(simplified("out_of_place", shuffled, {}, {}, {1, 2, 3, 3}), shuffled);
  const std::string text =
      "%x = input()\n%a = torch.abs(%x)\n%y = torch.positive(%a)\n"
      "%c = %y.add_(1)\nreturn (%c, %a)\n";
  EXPECT_EQ(simplified("out_of_place", text), text);
}

}  // namespace
}  // namespace sparsebit::passes::out_of_place_test
