#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

namespace sparsebit::test::joining_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Tensor ints(const Ints& values) { return at::tensor(values, at::kLong); }

struct SliceCase {
  Ints start, end, axes, steps;
  Tensor expected;
};

std::vector<SliceCase> slice_cases(const Tensor& x) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  constexpr int64_t kBegin = std::numeric_limits<int64_t>::min();
  return {
      {{1}, {3}, {1}, {1}, x.slice(1, 1, 3)},
      {{0, 1}, {kEnd, -1}, {0, -1}, {2, 1}, x.slice(0, 0, 9, 2).slice(1, 1, 5)},
      {{-1}, {kBegin}, {1}, {-1}, x.flip(1)},
      {{4}, {1}, {1}, {-2}, x.index_select(1, ints({4, 2}))},
      {{7}, {-100}, {1}, {-4}, x.index_select(1, ints({5, 1}))},
      {{3}, {1}, {1}, {1}, x.slice(1, 3, 3)},
      {{0}, {5}, {1}, {-1}, x.slice(1, 0, 0)},
  };
}

TEST(OnnxJoining, SliceWithConstantAndComputedBounds) {
  const Tensor x = at::arange(24).view({4, 6}).to(at::kFloat);
  for (const SliceCase& c : slice_cases(x)) {
    for (const bool computed : {false, true}) {
      ModelBuilder model(13);
      model.input("x", {4, 6});
      std::vector<Tensor> given = {x};
      for (const auto& [name, values] :
           {std::pair{"s", c.start}, {"e", c.end}, {"a", c.axes}, {"t", c.steps}}) {
        if (!computed) {
          model.constant(name, ints(values));
          continue;
        }
        model.input(name, {static_cast<int64_t>(values.size())}, at::kLong);
        given.push_back(ints(values));
      }
      const auto module =
          model.node("Slice", {"x", "s", "e", "a", "t"}, {"y"}).output("y").import();
      EXPECT_TRUE(run(*module, given)[0].equal(c.expected)) << at::IntArrayRef(c.start) << computed;
    }
  }
}

TEST(OnnxJoining, SliceBeforeOperatorSet10) {
  const auto module =
      ModelBuilder(9)
          .input("x", {-1, 6})
          .node("Slice", {"x"}, {"y"}, {{"starts", Ints{1}}, {"ends", Ints{-1}}, {"axes", Ints{1}}})
          .output("y")
          .import();
  EXPECT_EQ(calls(*module), Calls{"operator.getitem"});
  const Tensor x = at::randn({2, 6});
  EXPECT_TRUE(run(*module, {x})[0].equal(x.slice(1, 1, 5)));
}

/// x[:, :x.size(1) // 2].t(): a slice has as many axes as before.
TEST(OnnxJoining, SliceUpToAComputedSize) {
  const auto module = ModelBuilder(13)
                          .input("x", {2, -1})
                          .constant("one", ints({1}))
                          .constant("two", ints({2}))
                          .constant("zero", ints({0}))
                          .node("Shape", {"x"}, {"shape"})
                          .node("Gather", {"shape", "one"}, {"n"})
                          .node("Div", {"n", "two"}, {"half"})
                          .node("Slice", {"x", "zero", "half", "one"}, {"part"})
                          .node("Transpose", {"part"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module),
            (Calls{"Tensor.size", "operator.floordiv", "operator.getitem", "torch.permute"}));
  const Tensor x = at::randn({2, 7});
  EXPECT_TRUE(run(*module, {x})[0].equal(x.slice(1, 0, 3).t()));
}

TEST(OnnxJoining, SplitInEveryForm) {
  const Tensor x = at::randn({7, 2});
  const auto sizes_of = [&](ModelBuilder& model, const std::vector<Tensor>& given) {
    const auto module = model.output("a").output("b").output("c").import();
    Ints sizes;
    for (const Tensor& part : run(*module, given)) sizes.push_back(part.size(0));
    return sizes;
  };
  const std::vector<std::string> names = {"a", "b", "c"};
  ModelBuilder attribute(11), input(13), computed(13), uneven(18), unknown(18);
  attribute.input("x", {7, 2}).node("Split", {"x"}, names, {{"split", Ints{1, 2, 4}}});
  EXPECT_EQ(sizes_of(attribute, {x}), (Ints{1, 2, 4}));
  input.input("x", {7, 2}).constant("s", ints({4, 0, 3})).node("Split", {"x", "s"}, names);
  EXPECT_EQ(sizes_of(input, {x}), (Ints{4, 0, 3}));
  computed.input("x", {7, 2}).input("s", {3}, at::kLong).node("Split", {"x", "s"}, names);
  EXPECT_EQ(sizes_of(computed, {x, ints({4, 1, 2})}), (Ints{4, 1, 2}));
  uneven.input("x", {7, 2}).node("Split", {"x"}, names, {{"num_outputs", int64_t{3}}});
  EXPECT_EQ(sizes_of(uneven, {x}), (Ints{3, 3, 1}));
  unknown.input("x", {-1, 2}).node("Split", {"x"}, names, {{"num_outputs", int64_t{3}}});
  EXPECT_EQ(sizes_of(unknown, {x}), (Ints{3, 3, 1}));
}

TEST(OnnxJoining, WhatIsWrong) {
  const auto slice = [](const Ints& start, const Ints& axes, const Ints& steps) {
    return ModelBuilder(13)
        .input("x", {4, 6})
        .constant("s", ints(start))
        .constant("e", ints({2}))
        .constant("a", ints(axes))
        .constant("t", ints(steps))
        .node("Slice", {"x", "s", "e", "a", "t"}, {"y"})
        .output("y");
  };
  EXPECT_EQ(import_error(slice({0}, {2}, {1})),
            "model: node 'y' (Slice): axis 2 does not exist in a tensor with 2 axes");
  EXPECT_EQ(import_error(slice({0}, {1}, {0})), "model: node 'y' (Slice): steps contains 0");
  EXPECT_EQ(import_error(slice({0, 0}, {1}, {1})),
            "model: node 'y' (Slice): starts, ends, axes and steps have 2, 1, 1 and 1 entries");
  EXPECT_EQ(import_error(ModelBuilder(11)
                             .input("x", {7})
                             .node("Split", {"x"}, {"a", "b"}, {{"split", Ints{7}}})
                             .output("a")),
            "model: node 'a' (Split): split has 1 entries for 2 results");
}

}  // namespace
}  // namespace sparsebit::test::joining_test
