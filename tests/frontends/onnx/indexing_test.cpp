#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::indexing_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Tensor ints(const Ints& values) { return at::tensor(values, at::kLong); }

TEST(OnnxIndexing, ATableIsAnEmbedding) {
  const Tensor table = at::randn({5, 3});
  const auto module = ModelBuilder(13)
                          .input("i", {-1, 4}, at::kLong)
                          .constant("words.weight", table)
                          .node("Gather", {"words.weight", "i"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), Calls{"torch.nn.Embedding"});
  EXPECT_TRUE(module->find_module("words"));
  const Tensor i = ints({0, 4, 2, 2}).view({1, 4});
  EXPECT_TRUE(run(*module, {i})[0].equal(table.index_select(0, i.flatten()).view({1, 4, 3})));
}

/// Computed indices may count from the end; indices that are model inputs do not.
TEST(OnnxIndexing, ATableTakesIndicesFromTheEnd) {
  const Tensor table = at::randn({5, 3});
  const auto module = [&](const std::string& type, int64_t number) {
    return ModelBuilder(13)
        .input("i", {2}, at::kLong)
        .constant("n", at::scalar_tensor(number, at::kLong))
        .constant("words.weight", table)
        .node(type, {"i", "n"}, {"j"})
        .node("Gather", {"words.weight", "j"}, {"y"})
        .output("y")
        .import();
  };
  const auto moved = module("Sub", 3);
  EXPECT_EQ(calls(*moved),
            (Calls{"torch.sub", "torch.lt", "torch.add", "torch.where", "torch.nn.Embedding"}));
  EXPECT_TRUE(run(*moved, {ints({0, 5})})[0].equal(table.index_select(0, ints({2, 2}))));
  EXPECT_ANY_THROW(run(*moved, {ints({0, 8})}));
  EXPECT_EQ(calls(*module("Add", 1)), (Calls{"torch.add", "torch.nn.Embedding"}));
  EXPECT_EQ(calls(*module("Add", -1)).size(), 5U);
}

TEST(OnnxIndexing, GatherWithConstantIndices) {
  const Tensor x = at::randn({3, 4});
  const auto gathered = [&](const Tensor& indices, const char* target) {
    const auto module = ModelBuilder(13)
                            .input("x", {3, 4})
                            .constant("i", indices)
                            .node("Gather", {"x", "i"}, {"y"}, {{"axis", int64_t{-1}}})
                            .output("y")
                            .import();
    EXPECT_EQ(calls(*module), Calls{target});
    return run(*module, {x})[0];
  };
  EXPECT_TRUE(gathered(at::scalar_tensor(-1, at::kLong), "torch.select").equal(x.select(1, 3)));
  EXPECT_TRUE(gathered(ints({2, 0}), "torch.index_select").equal(x.index_select(1, ints({2, 0}))));
  EXPECT_TRUE(gathered(ints({-1, 0}), "operator.getitem").equal(x.index_select(1, ints({3, 0}))));
}

TEST(OnnxIndexing, ComputedIndicesOfEveryType) {
  const Tensor x = at::randn({3, 4});
  for (const auto dtype : {at::kInt, at::kLong}) {
    const auto module = ModelBuilder(13)
                            .input("x", {3, 4})
                            .input("i", {2}, dtype)
                            .node("Gather", {"x", "i"}, {"y"}, {{"axis", int64_t{1}}})
                            .output("y")
                            .import();
    const Tensor y = run(*module, {x, ints({-4, 3}).to(dtype)})[0];
    EXPECT_TRUE(y.equal(x.index_select(1, ints({0, 3}))));
  }
}

TEST(OnnxIndexing, ScatterWithReductions) {
  const struct {
    const char* reduction;
    float expected;
  } cases[] = {{"add", 9}, {"mul", 24}, {"max", 4}, {"min", 2}};
  for (const auto& c : cases) {
    const auto elements =
        ModelBuilder(18)
            .input("x", {3})
            .input("i", {2}, at::kLong)
            .input("u", {2})
            .node("ScatterElements", {"x", "i", "u"}, {"y"}, {{"reduction", c.reduction}})
            .output("y")
            .import();
    const Tensor x = at::tensor({0.0F, 0.0F, 2.0F}), u = at::tensor({3.0F, 4.0F});
    EXPECT_EQ(run(*elements, {x, ints({-1, 2}), u})[0][2].item<float>(), c.expected) << c.reduction;
    const auto nd = ModelBuilder(18)
                        .input("x", {3})
                        .input("i", {2, 1}, at::kLong)
                        .input("u", {2})
                        .node("ScatterND", {"x", "i", "u"}, {"y"}, {{"reduction", c.reduction}})
                        .output("y")
                        .import();
    const Tensor y = run(*nd, {x, ints({-1, 2}).view({2, 1}), u})[0];
    EXPECT_EQ(y[2].item<float>(), c.expected) << c.reduction;
  }
}

TEST(OnnxIndexing, TopKPrefersTheLowerIndex) {
  const Tensor x = at::tensor({1.0F, 3.0F, 3.0F, 0.0F, 0.0F});
  const auto indices = [&](ModelBuilder model, bool largest) {
    model.input("x", {5});
    if (largest) {
      model.node("TopK", {"x"}, {"v", "i"}, {{"k", int64_t{2}}});
    } else {
      model.constant("k", ints({2}))
          .node("TopK", {"x", "k"}, {"v", "i"}, {{"largest", int64_t{0}}});
    }
    return run(*model.output("i").import(), {x})[0];
  };
  EXPECT_TRUE(indices(ModelBuilder(9), true).equal(ints({1, 2})));
  EXPECT_TRUE(indices(ModelBuilder(11), false).equal(ints({3, 4})));
}

/// Transpose without `perm` needs the rank, so its conversion shows that the rank is known.
TEST(OnnxIndexing, ShapesOfWhatIsLookedUp) {
  const auto turned = [](ModelBuilder& model) {
    model.node("Transpose", {"y"}, {"z"}).output("z");
    return calls(*model.import());
  };
  ModelBuilder top(13), hot(13), nd(13), places(13);
  top.input("x", {2, 5}).input("k", {1}, at::kLong).node("TopK", {"x", "k"}, {"y"});
  EXPECT_THAT(turned(top), testing::Contains("torch.permute"));
  hot.input("x", {2}, at::kLong).constant("d", ints({3})).constant("v", at::tensor({0.0F, 1.0F}));
  hot.node("OneHot", {"x", "d", "v"}, {"y"});
  EXPECT_THAT(turned(hot), testing::Contains("torch.permute"));
  nd.input("x", {2, 5, 3}).input("i", {4, 1}, at::kLong).node("GatherND", {"x", "i"}, {"y"});
  EXPECT_THAT(turned(nd), testing::Contains("torch.permute"));
  places.input("x", {2, 5}).node("NonZero", {"x"}, {"y"});
  EXPECT_THAT(turned(places), testing::Contains("torch.permute"));
}

/// Indices that repeat one row can produce gigabytes: this must not happen during import.
TEST(OnnxIndexing, ConstantsAreNotGrown) {
  const auto gather = [](const Tensor& table, const Tensor& indices) {
    return calls(*ModelBuilder(13)
                      .constant("t", table)
                      .constant("i", indices)
                      .node("Gather", {"t", "i"}, {"y"})
                      .output("y")
                      .import());
  };
  EXPECT_EQ(gather(at::ones({2, 500}), at::zeros({20, 20}, at::kLong)), Calls{"operator.getitem"});
  EXPECT_EQ(gather(at::ones({2, 50}), at::zeros({2, 2}, at::kLong)), Calls{});  // small
}

TEST(OnnxIndexing, BadIndicesAreErrors) {
  const auto module = ModelBuilder(13)
                          .input("x", {3, 4})
                          .input("i", {1, 1}, at::kLong)
                          .node("GatherND", {"x", "i"}, {"y"})
                          .output("y")
                          .import();
  try {
    run(*module, {at::ones({3, 4}), ints({3}).view({1, 1})});
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr("index 3 is out of range for an axis with 3 elements"));
  }
}

}  // namespace
}  // namespace sparsebit::test::indexing_test
