#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/padding.h>

namespace sparsebit::fx::test::padding_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto padded(const F::PadFuncOptions& options) {
  return [=](Tensors t) { return Tensors{F::pad(t[0], options)}; };
}

TEST(Padding, EqualsLibtorch) {
  const at::Tensor x = normal({2, 3, 5, 4}), volume = normal({1, 2, 3, 4, 3});
  expect_equal_to_libtorch({
      {"torch.nn.functional.pad(%a, (1, 2))", {x}, padded(F::PadFuncOptions({1, 2}))},
      {"torch.nn.functional.pad(%a, [1, -1, 0, 2], 'constant', 1.5)",
       {x},
       padded(F::PadFuncOptions({1, -1, 0, 2}).value(1.5))},
      {"torch.nn.functional.pad(%a, pad=[0, 0, 1, 1, 2, 0], value=2)",
       {x},
       padded(F::PadFuncOptions({0, 0, 1, 1, 2, 0}).value(2))},
      {"torch.nn.functional.pad(%a, [1, 0], value=7)",
       {integers({2, 3}, 0, 9)},
       padded(F::PadFuncOptions({1, 0}).value(7))},
      {"torch.nn.functional.pad(%a, (1, 2, 3, 0), mode='reflect')",
       {x},
       padded(F::PadFuncOptions({1, 2, 3, 0}).mode(torch::kReflect))},
      {"torch.nn.functional.pad(%a, (1, 2), 'reflect')",
       {x[0]},
       padded(F::PadFuncOptions({1, 2}).mode(torch::kReflect))},
      {"torch.nn.functional.pad(%a, (1, 2, 3, 0, 1, 1), 'replicate')",
       {volume},
       padded(F::PadFuncOptions({1, 2, 3, 0, 1, 1}).mode(torch::kReplicate))},
      {"torch.nn.functional.pad(%a, (1, 2, 3, 0), 'circular')",
       {x},
       padded(F::PadFuncOptions({1, 2, 3, 0}).mode(torch::kCircular))},
      // As the modules call it: one int for all sides.
      {"torch.nn.functional.pad(%a, 2, 'reflect', spatial_dims=2)",
       {x},
       padded(F::PadFuncOptions({2, 2, 2, 2}).mode(torch::kReflect))},
      {"torch.nn.functional.pad(%a, (1, 0, 2, 0), 'constant', 3, spatial_dims=2)",
       {x},
       padded(F::PadFuncOptions({1, 0, 2, 0}).value(3))},
  });
}

TEST(Padding, ErrorsNameTheArgument) {
  const at::Tensor x = normal({2, 3, 5, 4});
  EXPECT_THAT([&] { evaluate("torch.nn.functional.pad(%a, [1, 2], spatial_dims=2)", {x}); },
              ThrowsMessage<Error>(HasSubstr("argument 'padding' must be one int or 4, got 2")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.pad(%a, [1, 2, 3])", {x}); },
              ThrowsMessage<Error>(HasSubstr("Padding length must be divisible by 2")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.pad(%a, [1, 2], 'mirror')", {x}); },
              ThrowsMessage<Error>(HasSubstr("Unrecognised padding mode mirror")));
}

TEST(Padding, ModulesFixTheModeAndHaveNoState) {
  for (const char* rank : {"1d", "2d", "3d"}) {
    expect_state({c10::str("torch.nn.ConstantPad", rank), {1, 0.5}}, {});
    expect_state({c10::str("torch.nn.ReflectionPad", rank), {1}}, {});
    expect_state({c10::str("torch.nn.ReplicationPad", rank), {1}}, {});
  }
  expect_state({"torch.nn.ZeroPad2d", {1}}, {});
  EXPECT_EQ(operators().get("torch.nn.ReflectionPad3d").module->preset,
            (Kwargs{{"mode", "reflect"}, {"spatial_dims", 3}}));
  EXPECT_EQ(operators().get("torch.nn.ZeroPad2d").module->preset,
            (Kwargs{{"mode", "constant"}, {"spatial_dims", 2}}));
}

}  // namespace
}  // namespace sparsebit::fx::test::padding_test
