#include "fx/ops/op_case.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::cast_test {
namespace {

std::function<Tensors(Tensors)> cast_to(at::ScalarType dtype) {
  return [=](Tensors t) { return Tensors{t[0].to(dtype)}; };
}

TEST(Cast, ToEqualsLibtorch) {
  const at::Tensor x = normal({3, 4}) * 3;
  expect_equal_to_libtorch({
      {"%a.to(torch.float64)", {x}, cast_to(at::kDouble)},
      {"%a.to(dtype=torch.int64)", {x}, cast_to(at::kLong)},
      {"%a.to(torch.float64, False, True)", {x}, cast_to(at::kDouble)},
      {"%a.to('cpu')", {x}, cast_to(at::kFloat)},
      {"%a.to(cpu, torch.float16)", {x}, cast_to(at::kHalf)},
      {"%a.to(cpu, None)", {x}, cast_to(at::kFloat)},
      {"%a.to(device=cpu, dtype=torch.float64, non_blocking=True)", {x}, cast_to(at::kDouble)},
      {"%a.to(%b)", {x, at::ones({1}, at::kDouble)}, cast_to(at::kDouble), false},
      {"%a.to(other=%b)", {x, integers({1}, 0, 2)}, cast_to(at::kLong)},
      {"%a.to(torch.float64, memory_format='torch.preserve_format')", {x}, cast_to(at::kDouble)},
      {"%a.type_as(%b)", {x, integers({1}, 0, 2)}},
      {"%a.type(torch.float64)", {x}, cast_to(at::kDouble)},
      {"%a.type('torch.LongTensor')", {x}, cast_to(at::kLong)},
      {"%a.type(dtype='torch.HalfTensor')", {x}, cast_to(at::kHalf)},
  });
}

TEST(Cast, ShorthandsEqualLibtorch) {
  const at::Tensor x = positive({3, 4}) * 3;
  expect_equal_to_libtorch({
      {"%a.float()", {integers({3}, 0, 9)}, cast_to(at::kFloat)},
      {"%a.double()", {x}, cast_to(at::kDouble)},
      {"%a.half()", {x}, cast_to(at::kHalf)},
      {"%a.bfloat16()", {x}, cast_to(at::kBFloat16)},
      {"%a.int()", {x}, cast_to(at::kInt)},
      {"%a.long()", {x}, cast_to(at::kLong)},
      {"%a.short()", {x}, cast_to(at::kShort)},
      {"%a.char()", {x}, cast_to(at::kChar)},
      {"%a.byte()", {x}, cast_to(at::kByte)},
      {"%a.bool()", {x}, cast_to(at::kBool)},
      {"%a.cpu()", {x}},
  });
}

TEST(Cast, CopiesEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4, 5});
  expect_equal_to_libtorch({
      {"torch.clone(%a)", {x}},
      {"%a.clone()", {x}},
      {"%a.contiguous()", {x}},
      {"torch.detach(%a)", {x}},
      {"%a.detach()", {x}},
      {"torch.detach_(%a)", {x}},
      {"%a.detach_()", {x}},
      {"%a.item()", {normal({1})}},
      {"%a.requires_grad_()", {x}, [](Tensors t) { return t; }},
      {"%a.requires_grad_(False)", {x}, [](Tensors t) { return t; }, false},
  });
}

TEST(Cast, ToWithoutChangeReturnsTheSameTensor) {
  const at::Tensor x = normal({2});
  EXPECT_TRUE(evaluate("%a.to(torch.float32)", {x}).tensor().is_same(x));
  EXPECT_FALSE(evaluate("%a.to(torch.float32, copy=True)", {x}).tensor().is_same(x));
  EXPECT_FALSE(evaluate("%a.to(cpu, torch.float32, False, True)", {x}).tensor().is_same(x));
  EXPECT_TRUE(evaluate("%a.float()", {x}).tensor().is_same(x));
  EXPECT_TRUE(evaluate("%a.contiguous()", {x}).tensor().is_same(x));
}

TEST(Cast, MemoryFormatsAreObeyed) {
  const at::Tensor x = normal({2, 3, 4, 5});
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  for (const std::string call : {"%a.contiguous(memory_format='torch.channels_last')",
                                 "%a.to(memory_format='torch.channels_last')",
                                 "torch.clone(%a, memory_format='torch.channels_last')"}) {
    EXPECT_TRUE(evaluate(call, {x}).tensor().is_contiguous(channels_last)) << call;
  }
  const at::Tensor y = x.contiguous(channels_last);
  EXPECT_TRUE(evaluate("%a.contiguous(memory_format='torch.contiguous_format')", {y})
                  .tensor()
                  .is_contiguous());
  EXPECT_TRUE(evaluate("%a.clone(memory_format=None)", {y}).tensor().is_contiguous(channels_last));
  EXPECT_EQ(error_of("%a.contiguous('channels_last')", {normal({1})}),
            "unknown memory format 'channels_last'; known: torch.contiguous_format, "
            "torch.channels_last, torch.channels_last_3d, torch.preserve_format\n"
            "  in operator 'contiguous' with input=Tensor[1] float32");
}

TEST(Cast, ItemsAndTypesArePlain) {
  expect_plain_results({
      {"%a.item()", "int 3", {at::full({}, 3, at::kLong)}},
      {"%a.item()", "bool True", {at::ones({1}, at::kBool)}},
      {"%a.item()", "float 0.5", {at::full({1, 1}, 0.5)}},
      {"%a.type()", "str 'torch.FloatTensor'", {normal({1})}},
  });
  EXPECT_EQ(
      error_of("%a.type('float')", {normal({1})}),
      "unknown tensor type; expected a dtype or a name such as 'torch.FloatTensor', found str "
      "'float'\n  in operator 'type' with input=Tensor[1] float32");
  EXPECT_EQ(error_of("%a.to(3)", {normal({1})}),
            "wrong type; expected a device, found int 3\n"
            "  in operator 'to' with input=Tensor[1] float32, target=list [3]");
}

}  // namespace
}  // namespace sparsebit::fx::test::cast_test
