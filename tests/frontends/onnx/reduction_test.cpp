#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::reduction_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Tensor numbers() { return at::arange(24, at::kFloat).reshape({2, 3, 4}) + 1; }

struct Case {
  std::string type;
  int64_t opset;
  std::vector<Attribute> attributes;
  Calls calls;
  Tensor expected;
};

void expect_conversions(const std::vector<Case>& cases, const Tensor& x) {
  for (const Case& item : cases) {
    SCOPED_TRACE(item.type);
    const auto module = ModelBuilder(item.opset)
                            .input("x", x.sizes().vec(), x.scalar_type())
                            .node(item.type, {"x"}, {"y"}, item.attributes)
                            .output("y")
                            .import();
    EXPECT_EQ(calls(*module), item.calls);
    const Tensor y = run(*module, {x})[0];
    EXPECT_EQ(y.scalar_type(), item.expected.scalar_type());
    EXPECT_EQ(y.sizes(), item.expected.sizes());
    EXPECT_TRUE(at::allclose(y, item.expected)) << y << item.expected;
  }
}

TEST(OnnxReduction, AxesAsAttribute) {
  const Tensor x = numbers();
  const Attribute last{"axes", Ints{-1}}, drop{"keepdims", int64_t{0}};
  expect_conversions(
      {{"ReduceSum", 11, {last}, {"torch.sum"}, x.sum(-1, true)},
       {"ReduceMean", 13, {last, drop}, {"torch.mean"}, x.mean(-1)},
       {"ReduceMax", 13, {drop}, {"torch.amax"}, x.max()},
       {"ReduceL1", 13, {last, drop}, {"torch.norm"}, x.sum(-1)},
       {"ReduceL2", 13, {last, drop}, {"torch.norm"}, x.square().sum(-1).sqrt()},
       {"ReduceLogSum", 13, {last, drop}, {"torch.sum", "torch.log"}, x.sum(-1).log()},
       {"ReduceSumSquare", 13, {last, drop}, {"torch.square", "torch.sum"}, x.square().sum(-1)},
       {"ReduceProd",
        13,
        {{"axes", Ints{2, 0}}, drop},
        {"torch.prod", "torch.prod"},
        x.prod(2).prod(0)}},
      x);
}

TEST(OnnxReduction, IntegersKeepTheirType) {
  const Tensor x = at::arange(6, at::kInt).reshape({2, 3});
  const Attribute last{"axes", Ints{1}}, drop{"keepdims", int64_t{0}};
  expect_conversions({{"ReduceSum", 11, {last, drop}, {"torch.sum"}, x.sum(1, false, at::kInt)},
                      {"ReduceMean",
                       13,
                       {last, drop},
                       {"Tensor.to", "torch.mean", "Tensor.to"},
                       at::tensor({1, 4}, at::kInt)},
                      {"ReduceProd", 13, {last, drop}, {"torch.prod"}, x.prod(1, false, at::kInt)}},
                     x);
}

TEST(OnnxReduction, AxesAsInput) {
  const Tensor x = numbers();
  const auto constant = ModelBuilder(18)
                            .input("x", {2, 3, 4})
                            .constant("axes", at::tensor({1}, at::kLong))
                            .node("ReduceMax", {"x", "axes"}, {"y"})
                            .output("y")
                            .import();
  EXPECT_EQ(calls(*constant), Calls{"torch.amax"});
  EXPECT_TRUE(run(*constant, {x})[0].equal(x.amax(1, true)));

  const auto computed = ModelBuilder(18)
                            .input("x", {2, 3, 4})
                            .input("axes", {-1}, at::kLong)
                            .node("ReduceProd", {"x", "axes"}, {"y"}, {{"keepdims", int64_t{0}}})
                            .output("y")
                            .import();
  EXPECT_EQ(calls(*computed), Calls{"onnx.ReduceProd"});
  EXPECT_TRUE(run(*computed, {x, at::tensor({1}, at::kLong)})[0].equal(x.prod(1)));
  EXPECT_TRUE(run(*computed, {x, at::empty({0}, at::kLong)})[0].allclose(x.prod()));
  EXPECT_ANY_THROW(run(*computed, {x, at::tensor({3}, at::kLong)}));
}

TEST(OnnxReduction, NoAxesMayMeanNoReduction) {
  const auto module = ModelBuilder(13)
                          .input("x", {2, 3, 4})
                          .node("ReduceSum", {"x"}, {"y"}, {{"noop_with_empty_axes", int64_t{1}}})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), Calls{});
  EXPECT_TRUE(run(*module, {numbers()})[0].equal(numbers()));

  const auto squares =
      ModelBuilder(18)
          .input("x", {2, 3, 4})
          .input("axes", {-1}, at::kLong)
          .node("ReduceSumSquare", {"x"}, {"y"}, {{"noop_with_empty_axes", int64_t{1}}})
          .node("ReduceSumSquare", {"x", "axes"}, {"z"}, {{"noop_with_empty_axes", int64_t{1}}})
          .output("y")
          .output("z")
          .import();
  EXPECT_EQ(calls(*squares), (Calls{"torch.square", "onnx.ReduceSumSquare"}));
  for (const Tensor& y : run(*squares, {numbers(), at::empty({0}, at::kLong)})) {
    EXPECT_TRUE(y.equal(numbers().square()));
  }
}

TEST(OnnxReduction, LastOfEqualPositions) {
  const Tensor x = at::tensor({1.0F, 3.0F, 3.0F, 0.0F});
  const auto position = [&](int64_t last) {
    const auto module =
        ModelBuilder(13)
            .input("x", {-1})
            .node("ArgMax", {"x"}, {"y"}, {{"select_last_index", last}, {"keepdims", int64_t{0}}})
            .output("y")
            .import();
    return run(*module, {x})[0].item<int64_t>();
  };
  EXPECT_EQ(position(0), 1);
  EXPECT_EQ(position(1), 2);
}

TEST(OnnxReduction, AxesMustExist) {
  ModelBuilder builder(11);
  builder.input("x", {2, 3}).node("ReduceSum", {"x"}, {"y"}, {{"axes", Ints{2}}}).output("y");
  EXPECT_EQ(import_error(builder),
            "model: node 'y' (ReduceSum): axis 2 does not exist in a tensor with 2 axes");
}

}  // namespace
}  // namespace sparsebit::test::reduction_test
