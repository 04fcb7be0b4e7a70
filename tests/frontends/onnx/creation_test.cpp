#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::creation_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;

TEST(OnnxCreation, ConstantsOfEveryForm) {
  const auto module = ModelBuilder(13)
                          .node("Constant", {}, {"a"}, {{"value", at::tensor({1.5F})}})
                          .node("Constant", {}, {"b"}, {{"value_int", int64_t{3}}})
                          .node("Constant", {}, {"c"}, {{"value_ints", Ints{4, 5}}})
                          .node("Constant", {}, {"d"}, {{"value_float", 2.5}})
                          .node("Constant", {}, {"e"}, {{"value_floats", std::vector{1.0, 2.0}}})
                          .output("a")
                          .output("b")
                          .output("c")
                          .output("d")
                          .output("e")
                          .import();
  const std::vector<Tensor> found = run(*module, {});
  const std::vector<Tensor> expected = {at::tensor({1.5F}), at::scalar_tensor(3, at::kLong),
                                        at::tensor({4, 5}, at::kLong), at::scalar_tensor(2.5F),
                                        at::tensor({1.0F, 2.0F})};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].scalar_type(), expected[i].scalar_type());
    EXPECT_TRUE(found[i].equal(expected[i])) << i;
  }
}

TEST(OnnxCreation, StringsAreCarried) {
  const auto module =
      ModelBuilder(13).node("Constant", {}, {"y"}, {{"value_string", "text"}}).output("y").import();
  EXPECT_EQ(calls(*module), Calls{"onnx.Constant"});
}

/// A few bytes must not make the importer allocate gigabytes.
TEST(OnnxCreation, LargeTensorsAreMadeWhenTheModelRuns) {
  const auto filled = [](const Ints& shape) {
    return ModelBuilder(13)
        .constant("shape", at::tensor(shape, at::kLong))
        .node("ConstantOfShape", {"shape"}, {"y"}, {{"value", at::tensor({7}, at::kInt)}})
        .output("y")
        .import();
  };
  EXPECT_EQ(calls(*filled({2, 3})), Calls{});
  EXPECT_TRUE(run(*filled({2, 3}), {})[0].equal(at::full({2, 3}, 7, at::kInt)));
  EXPECT_EQ(calls(*filled({1 << 30, 1 << 30})), Calls{"torch.full"});
  const auto range = [](int64_t limit, int64_t delta) {
    return ModelBuilder(11)
        .constant("start", at::scalar_tensor(0, at::kLong))
        .constant("limit", at::scalar_tensor(limit, at::kLong))
        .constant("delta", at::scalar_tensor(delta, at::kLong))
        .node("Range", {"start", "limit", "delta"}, {"y"})
        .output("y")
        .import();
  };
  EXPECT_EQ(calls(*range(int64_t{1} << 40, 1)), Calls{"torch.arange"});
  EXPECT_TRUE(run(*range(7, 3), {})[0].equal(at::tensor({0, 3, 6}, at::kLong)));
  EXPECT_TRUE(run(*range(7, -1), {})[0].equal(at::empty({0}, at::kLong)));
}

TEST(OnnxCreation, SizesThatAreNotFixed) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 4})
                          .node("Shape", {"x"}, {"shape"})
                          .node("ConstantOfShape", {"shape"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"Tensor.size", "torch.full"}));
  EXPECT_TRUE(run(*module, {at::rand({3, 4})})[0].equal(at::zeros({3, 4})));

  const auto computed = ModelBuilder(13)
                            .input("shape", {-1}, at::kLong)
                            .node("ConstantOfShape", {"shape"}, {"y"})
                            .output("y")
                            .import();
  EXPECT_EQ(calls(*computed), Calls{"onnx.ConstantOfShape"});
  EXPECT_TRUE(run(*computed, {at::tensor({2, 1}, at::kLong)})[0].equal(at::zeros({2, 1})));
  EXPECT_ANY_THROW(run(*computed, {at::tensor({-2}, at::kLong)}));
}

TEST(OnnxCreation, OnesOnAnyDiagonal) {
  for (const int64_t k : {-1, 0, 2, 9}) {
    const auto module = ModelBuilder(9)
                            .input("x", {3, -1}, at::kInt)
                            .node("EyeLike", {"x"}, {"y"}, {{"k", k}, {"dtype", int64_t{11}}})
                            .output("y")
                            .import();
    Tensor expected = at::zeros({3, 4}, at::kDouble);
    expected.diagonal(k).fill_(1);
    EXPECT_TRUE(run(*module, {at::zeros({3, 4}, at::kInt)})[0].equal(expected)) << k;
  }
}

TEST(OnnxCreation, EveryRunDrawsAnew) {
  const auto module =
      ModelBuilder(13)
          .node("RandomNormal", {}, {"y"}, {{"shape", Ints{1000}}, {"mean", 5.0}, {"scale", 0.5}})
          .node("RandomUniformLike", {"y"}, {"z"}, {{"low", 1.0}, {"high", 2.0}})
          .output("y")
          .output("z")
          .import();
  const std::vector<Tensor> first = run(*module, {}), second = run(*module, {});
  EXPECT_FALSE(first[0].equal(second[0]));
  EXPECT_NEAR(first[0].mean().item<double>(), 5.0, 0.1);
  EXPECT_NEAR(first[0].std().item<double>(), 0.5, 0.1);
  EXPECT_GE(first[1].min().item<double>(), 1.0);
  EXPECT_LT(first[1].max().item<double>(), 2.0);
}

TEST(OnnxCreation, MultinomialFollowsTheWeights) {
  const auto module = ModelBuilder(13)
                          .input("x", {1, 3})
                          .node("Multinomial", {"x"}, {"y"}, {{"sample_size", int64_t{50}}})
                          .output("y")
                          .import();
  const Tensor drawn = run(*module, {at::tensor({-100.0F, 0.0F, -100.0F}).reshape({1, 3})})[0];
  EXPECT_TRUE(drawn.equal(at::ones({1, 50}, at::kInt)));
}

TEST(OnnxCreation, CastsToTheSameTypeVanish) {
  const auto module = ModelBuilder(15)
                          .input("x", {2})
                          .input("like", {1}, at::kInt)
                          .node("Cast", {"x"}, {"same"}, {{"to", int64_t{1}}})
                          .node("CastLike", {"same", "like"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), Calls{"Tensor.to"});
  EXPECT_TRUE(run(*module, {at::tensor({1.9F, -1.9F}), at::zeros({1}, at::kInt)})[0].equal(
      at::tensor({1, -1}, at::kInt)));
}

}  // namespace
}  // namespace sparsebit::test::creation_test
