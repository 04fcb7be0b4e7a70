#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::getitem_test {
namespace {

template <class Compute>
std::function<Tensors(Tensors)> expect_from(Compute compute) {
  return [=](Tensors t) { return Tensors{compute(t[0])}; };
}

TEST(GetItem, BasicIndicesEqualLibtorch) {
  const at::Tensor x = normal({4, 5, 6});
  const at::Tensor two = at::full({}, 2, at::kLong), one = at::full({1}, 1, at::kLong);
  const auto same = [](const auto& t) { return t.alias(); };
  const auto item_1_2 = [](const auto& t) { return t.select(0, 1).select(0, 2); };
  expect_equal_to_libtorch({
      {"operator.getitem(%a, 1)", {x}, expect_from([](const auto& t) { return t.select(0, 1); })},
      {"operator.getitem(%a, -1)", {x}, expect_from([](const auto& t) { return t.select(0, 3); })},
      {"operator.getitem(%a, slice(1, 3, None))", {x}, expect_from([](const auto& t) {
         return t.narrow(0, 1, 2);
       })},
      {"operator.getitem(%a, slice(None, None, 2))", {x}, expect_from([](const auto& t) {
         return at::stack({t.select(0, 0), t.select(0, 2)});
       })},
      {"operator.getitem(%a, slice(-3, None, None))", {x}, expect_from([](const auto& t) {
         return t.narrow(0, 1, 3);
       })},
      {"operator.getitem(%a, slice(%b, None, None))", {x, two}, expect_from([](const auto& t) {
         return t.narrow(0, 2, 2);
       })},
      {"operator.getitem(%a, slice(None, %b, None))", {x, one}, expect_from([](const auto& t) {
         return t.narrow(0, 0, 1);
       })},
      {"operator.getitem(%a, None)", {x}, expect_from([](const auto& t) {
         return t.unsqueeze(0);
       })},
      {"operator.getitem(%a, ...)", {x}, expect_from(same)},
      {"operator.getitem(%a, ())", {x}, expect_from(same)},
      {"operator.getitem(%a, True)", {x}, expect_from([](const auto& t) {
         return t.unsqueeze(0);
       })},
      {"operator.getitem(%a, (1, 2))", {x}, expect_from(item_1_2)},
      {"operator.getitem(%a, (1, %b))", {x, two}, expect_from(item_1_2)},
      {"operator.getitem(%a, (slice(None, None, None), 2))", {x}, expect_from([](const auto& t) {
         return t.select(1, 2);
       })},
      {"operator.getitem(%a, (..., 0))", {x}, expect_from([](const auto& t) {
         return t.select(2, 0);
       })},
      {"operator.getitem(%a, (None, ..., slice(1, 4, 2), None))",
       {x},
       expect_from(
           [](const auto& t) { return at::slice(t, 2, 1, 4, 2).unsqueeze(0).unsqueeze(-1); })},
  });
}

TEST(GetItem, TensorIndicesEqualLibtorch) {
  const at::Tensor x = normal({4, 5, 6});
  const at::Tensor rows = at::tensor({3, 0, 3}, at::kLong),
                   columns = at::tensor({1, 2, 4}, at::kLong);
  const auto both = [](Tensors t) { return Tensors{at::index(t[0], {t[1], t[2]})}; };
  const auto rows_0_2 = [](const auto& t) { return at::stack({t.select(0, 0), t.select(0, 2)}); };
  expect_equal_to_libtorch({
      {"operator.getitem(%a, %b)",
       {x, rows},
       [](Tensors t) { return Tensors{t[0].index_select(0, t[1])}; }},
      {"operator.getitem(%a, %b)", {x, at::full({}, 2, at::kLong)}, expect_from([](const auto& t) {
         return t.select(0, 2);
       })},
      {"operator.getitem(%a, %b)",
       {x, booleans({4})},
       [](Tensors t) { return Tensors{t[0].index_select(0, t[1].nonzero().squeeze(1))}; }},
      {"operator.getitem(%a, %b)",
       {x, booleans({4, 5, 6})},
       [](Tensors t) { return Tensors{t[0].masked_select(t[1])}; }},
      {"operator.getitem(%a, (%b, %c))", {x, rows, columns}, both},
      {"operator.getitem(%a, [%b, %c])", {x, rows, columns}, both},
      {"operator.getitem(%a, (slice(None, None, None), %b))",
       {x, columns},
       [](Tensors t) { return Tensors{t[0].index_select(1, t[1])}; }},
      {"operator.getitem(%a, (%b, slice(None, None, None), 1))",
       {x, rows},
       [](Tensors t) { return Tensors{t[0].select(2, 1).index_select(0, t[1])}; }},
      {"operator.getitem(%a, [0, 2])", {x}, expect_from(rows_0_2)},
      {"operator.getitem(%a, [True, False, True, False])", {x}, expect_from(rows_0_2)},
      {"operator.getitem(%a, [])", {x}, expect_from([](const auto& t) {
         return t.narrow(0, 0, 0);
       })},
      {"operator.getitem(%a, (slice(None, None, None), [1, 3]))",
       {x},
       expect_from([](const auto& t) {
         return at::stack({t.select(1, 1), t.select(1, 3)}, 1);
       })},
      {"operator.getitem(%a, [[0, 1], [1, 2]])", {x}, expect_from([](const auto& t) {
         return at::stack({t[0][1], t[1][2]});
       })},
  });
}

TEST(GetItem, SequencesFollowPython) {
  expect_plain_results({
      {"operator.getitem((1, 2, 3), 0)", "int 1"},
      {"operator.getitem([1, 2, 3], -1)", "int 3"},
      {"operator.getitem((1, 2, 3), %a)", "int 2", {at::full({}, 1, at::kLong)}},
      {"operator.getitem((1, 2, 3), slice(1, None, None))", "tuple (2, 3)"},
      {"operator.getitem([1, 2, 3], slice(None, -1, None))", "list [1, 2]"},
      {"operator.getitem((1, 2, 3), slice(None, None, -1))", "tuple (3, 2, 1)"},
      {"operator.getitem((1, 2, 3, 4), slice(-2, -10, -1))", "tuple (3, 2, 1)"},
      {"operator.getitem((1, 2, 3, 4), slice(None, None, 3))", "tuple (1, 4)"},
      {"operator.getitem((1, 2, 3), slice(5, 9, None))", "tuple ()"},
      {"operator.getitem('abc', 1)", "str 'b'"},
      {"operator.getitem('abc', slice(None, None, -2))", "str 'ca'"},
      {"operator.getitem({a: 1, b: 2}, 'b')", "int 2"},
  });
}

TEST(GetItem, BadIndicesAreErrors) {
  const at::Tensor x = normal({2, 3});
  EXPECT_EQ(error_of("operator.getitem((1, 2), 2)"),
            "tuple index out of range: 2 with 2 items\n"
            "  in operator 'getitem' with input=tuple (1, 2)");
  EXPECT_EQ(error_of("operator.getitem({a: 1}, 'b')").substr(0, 27), "the dict has no key str 'b'");
  EXPECT_EQ(error_of("operator.getitem(%a, slice(None, None, -1))", {x}),
            "PyTorch refused this: step must be greater than zero\n"
            "  in operator 'getitem' with input=Tensor[2, 3] float32");
  EXPECT_EQ(error_of("operator.getitem(%a, 2)", {x}),
            "PyTorch refused this: index 2 is out of bounds for dimension 0 with size 2\n"
            "  in operator 'getitem' with input=Tensor[2, 3] float32");
  EXPECT_EQ(error_of("operator.getitem(%a, (0, 0, 0))", {x}),
            "PyTorch refused this: too many indices for tensor of dimension 2\n"
            "  in operator 'getitem' with input=Tensor[2, 3] float32, index=tuple (0, 0, 0)");
  EXPECT_EQ(error_of("operator.getitem(%a, 'x')", {x}),
            "invalid index of a tensor; expected ints, slices, None, '...', bools, tensors "
            "or lists of numbers, found str 'x'\n"
            "  in operator 'getitem' with input=Tensor[2, 3] float32");
}

struct SetCase {
  std::string call;
  std::function<void(at::Tensor&, const at::Tensor&)> expected;
};

TEST(SetItem, WritesIntoTheTensor) {
  const at::Tensor x = normal({3, 4}), row = normal({4});
  const SetCase cases[] = {
      {"operator.setitem(%a, 1, 5)",
       [](at::Tensor& t, const at::Tensor&) { t.select(0, 1).fill_(5); }},
      {"operator.setitem(%a, 0, %b)",
       [](at::Tensor& t, const at::Tensor& v) { t.select(0, 0).copy_(v); }},
      {"operator.setitem(%a, slice(1, None, None), %b)",
       [](at::Tensor& t, const at::Tensor& v) { t.narrow(0, 1, 2).copy_(v); }},
      {"operator.setitem(%a, (slice(None, None, None), 2), 0.5)",
       [](at::Tensor& t, const at::Tensor&) { t.select(1, 2).fill_(0.5); }},
      {"operator.setitem(%a, ..., 1)", [](at::Tensor& t, const at::Tensor&) { t.fill_(1); }},
      {"operator.setitem(%a, [0, 2], %b)",
       [](at::Tensor& t, const at::Tensor& v) {
         t.select(0, 0).copy_(v);
         t.select(0, 2).copy_(v);
       }},
  };
  for (const SetCase& c : cases) {
    at::Tensor ours = x.clone(), theirs = x.clone();
    EXPECT_TRUE(evaluate(c.call, {ours, row}).is_none()) << c.call;
    c.expected(theirs, row);
    EXPECT_TRUE(at::equal(ours, theirs)) << c.call;
  }
  EXPECT_EQ(error_of("operator.setitem([1, 2], 0, 5)"),
            "item assignment is supported for tensors only, got list [1, 2]\n"
            "  in operator 'setitem' with input=list [1, 2]");
}

TEST(SetItem, GradientsFlowThroughTheAssignment) {
  const at::Tensor x = normal({3}).requires_grad_(), value = normal({}).requires_grad_();
  const at::Tensor y = x * 2;
  evaluate("operator.setitem(%a, 1, %b)", {y, value});
  y.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::tensor({2.0f, 0.0f, 2.0f})));
  EXPECT_TRUE(at::equal(value.grad(), at::ones({})));
}

}  // namespace
}  // namespace sparsebit::fx::test::getitem_test
