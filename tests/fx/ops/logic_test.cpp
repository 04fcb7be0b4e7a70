#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::logic_test {
namespace {

TEST(Logic, BitwiseOperatorsEqualLibtorch) {
  const at::Tensor x = integers({3, 4}, 0, 100), y = integers({4}, 0, 100);
  const at::Tensor p = booleans({3, 4}), q = booleans({4});
  expect_equal_to_libtorch({
      {"torch.bitwise_and(%a, %b)", {x, y}},
      {"torch.bitwise_and(%a, %b)", {p, q}},
      {"operator.and_(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] & t[1]}; }},
      {"operator.and_(6, %a)", {x}, [](Tensors t) { return Tensors{t[0] & 6}; }},
      {"%a.bitwise_and(7)", {x}},
      {"%a.bitwise_and_(%b)", {x, y}},
      {"operator.iand(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] &= t[1]}; }},
      {"torch.bitwise_or(%a, %b)", {x, y}},
      {"operator.or_(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] | t[1]}; }},
      {"%a.bitwise_or(7)", {x}},
      {"%a.bitwise_or_(%b)", {x, y}},
      {"operator.ior(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] |= t[1]}; }},
      {"torch.bitwise_xor(%a, %b)", {x, y}},
      {"operator.xor(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] ^ t[1]}; }},
      {"%a.bitwise_xor(7)", {x}},
      {"%a.bitwise_xor_(%b)", {x, y}},
      {"operator.ixor(%a, %b)", {p, q}, [](Tensors t) { return Tensors{t[0] ^= t[1]}; }},
      {"torch.bitwise_not(%a)", {x}},
      {"operator.invert(%a)", {p}, [](Tensors t) { return Tensors{~t[0]}; }},
      {"operator.inv(%a)", {x}, [](Tensors t) { return Tensors{~t[0]}; }},
      {"%a.bitwise_not()", {p}},
      {"%a.bitwise_not_()", {p}},
  });
}

TEST(Logic, ShiftsEqualLibtorch) {
  const at::Tensor x = integers({3, 4}, 0, 100), count = integers({4}, 0, 5);
  expect_equal_to_libtorch({
      {"torch.bitwise_left_shift(%a, %b)", {x, count}},
      {"operator.lshift(%a, 2)", {x}, [](Tensors t) { return Tensors{t[0] * 4}; }},
      {"%a.bitwise_left_shift(1)", {x}},
      {"%a.bitwise_left_shift_(%b)", {x, count}},
      {"operator.ilshift(%a, 1)", {x}, [](Tensors t) { return Tensors{t[0] *= 2}; }},
      {"torch.bitwise_right_shift(%a, %b)", {x, count}},
      {"operator.rshift(%a, 2)", {x}, [](Tensors t) { return Tensors{at::floor_divide(t[0], 4)}; }},
      {"%a.bitwise_right_shift(1)", {x}},
      {"%a.bitwise_right_shift_(%b)", {x, count}},
      {"operator.irshift(%a, 1)", {x}, [](Tensors t) { return Tensors{t[0].floor_divide_(2)}; }},
  });
}

TEST(Logic, LogicalOperatorsEqualLibtorch) {
  const at::Tensor x = integers({3, 4}, 0, 2), y = integers({4}, 0, 2), p = booleans({3, 4});
  expect_equal_to_libtorch({
      {"torch.logical_and(%a, %b)", {x, p}},
      {"%a.logical_and(%b)", {x, y}},
      {"%a.logical_and_(%b)", {x, y}},
      {"torch.logical_or(%a, %b)", {x, p}},
      {"%a.logical_or(%b)", {x, y}},
      {"%a.logical_or_(%b)", {x, y}},
      {"torch.logical_xor(%a, %b)", {x, p}},
      {"%a.logical_xor(%b)", {x, y}},
      {"%a.logical_xor_(%b)", {x, y}},
      {"torch.logical_not(%a)", {x}},
      {"%a.logical_not()", {normal({3})}},
      {"%a.logical_not_()", {p}},
  });
}

TEST(Logic, PlainOperandsFollowPython) {
  expect_plain_results({
      {"operator.and_(6, 3)", "int 2"},
      {"operator.or_(True, False)", "bool True"},
      {"operator.xor(6, 3)", "int 5"},
      {"operator.iand(True, False)", "bool False"},
      {"operator.invert(5)", "int -6"},
      {"operator.lshift(1, 3)", "int 8"},
      {"operator.rshift(9, 1)", "int 4"},
      {"operator.not_(0)", "bool True"},
      {"operator.not_('a')", "bool False"},
      {"operator.not_(())", "bool True"},
      {"operator.not_(%a)", "bool True", {at::zeros({1})}},
  });
}

TEST(Logic, TruthOfManyElementsIsAnError) {
  EXPECT_EQ(error_of("operator.not_(%a)", {normal({2})}),
            "wrong type; expected a bool, found Tensor[2] float32\n"
            "  in operator 'not' with input=Tensor[2] float32");
}

}  // namespace
}  // namespace sparsebit::fx::test::logic_test
