#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/embedding.h>
#include <torch/nn/functional/linear.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

namespace sparsebit::fx::test::linear_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Linear, EqualsLibtorch) {
  const at::Tensor x = normal({2, 3, 5}), w = normal({4, 5}), bias = normal({4});
  const at::Tensor y = normal({2, 3, 6}), w2 = normal({4, 5, 6});
  const auto linear = [](Tensors t) { return Tensors{F::linear(t[0], t[1], t[2])}; };
  expect_equal_to_libtorch({
      {"torch.nn.functional.linear(%a, %b, %c)", {x, w, bias}, linear},
      {"torch.nn.functional.linear(%a, weight=%b, bias=%c)", {x[0][1], w, bias}, linear},
      {"torch.nn.functional.linear(%a, %b)",
       {x, w},
       [](Tensors t) { return Tensors{F::linear(t[0], t[1])}; }},
      {"torch.nn.functional.linear(%a, %b)",
       {x, w[0]},
       [](Tensors t) { return Tensors{F::linear(t[0], t[1])}; }},
      {"torch.bilinear(%a, %b, %c, None)", {x, y, w2}},
      {"torch.nn.functional.bilinear(%a, %b, %c, %d)",
       {x, y, w2, bias},
       [](Tensors t) { return Tensors{F::bilinear(t[0], t[1], t[2], t[3])}; }},
  });
}

TEST(Linear, EmbeddingEqualsLibtorch) {
  const at::Tensor rows = integers({3, 4}, 0, 6), w = normal({6, 5});
  const auto expected = [](const F::EmbeddingFuncOptions& options) {
    return [=](Tensors t) { return Tensors{F::embedding(t[0], t[1], options)}; };
  };
  const F::EmbeddingFuncOptions defaults;
  expect_equal_to_libtorch({
      {"torch.nn.functional.embedding(%a, %b)", {rows, w}, expected(defaults)},
      {"torch.nn.functional.embedding(%a, %b, 2)",
       {rows, w},
       expected(F::EmbeddingFuncOptions().padding_idx(2))},
      {"torch.nn.functional.embedding(%a, %b, padding_idx=-2)",
       {rows, w},
       expected(F::EmbeddingFuncOptions().padding_idx(-2))},
      {"torch.nn.functional.embedding(%a, %b, scale_grad_by_freq=True)",
       {rows, w},
       expected(F::EmbeddingFuncOptions().scale_grad_by_freq(true))},
      {"torch.nn.functional.embedding(%a, %b, None, 1.5)",
       {rows, w},
       expected(F::EmbeddingFuncOptions().max_norm(1.5)),
       /*gradients=*/false},
      {"torch.nn.functional.embedding(%a, %b, max_norm=1.5, norm_type=1)",
       {rows, w},
       expected(F::EmbeddingFuncOptions().max_norm(1.5).norm_type(1)),
       /*gradients=*/false},
  });
}

TEST(Linear, SparseEmbeddingGivesSparseGradients) {
  const at::Tensor rows = integers({4}, 0, 6), w = normal({6, 5}).requires_grad_();
  flatten(evaluate("torch.nn.functional.embedding(%a, %b, sparse=True)", {rows, w}))[0]
      .sum()
      .backward();
  ASSERT_TRUE(w.grad().is_sparse());
  const at::Tensor sparse = w.grad().to_dense();
  w.mutable_grad() = at::Tensor();
  flatten(evaluate("torch.nn.functional.embedding(%a, %b)", {rows, w}))[0].sum().backward();
  EXPECT_TRUE(at::equal(sparse, w.grad()));
}

TEST(Linear, EmbeddingBagEqualsLibtorch) {
  using Options = F::EmbeddingBagFuncOptions;
  const at::Tensor rows = integers({3, 4}, 0, 6), flat = integers({9}, 0, 6), w = normal({6, 5});
  const at::Tensor offsets = at::tensor({0, 4, 4}, at::kLong), factors = normal({3, 4});
  const auto expected = [](const Options& options) {
    return [=](Tensors t) {
      Options o = options;
      if (t.size() > 2 && !t[2].is_floating_point()) o.offsets(t[2]);
      if (t.back().is_floating_point() && t.size() > 2) o.per_sample_weights(t.back());
      return Tensors{F::embedding_bag(t[0], t[1], o)};
    };
  };
  expect_equal_to_libtorch({
      {"torch.nn.functional.embedding_bag(%a, %b)", {rows, w}, expected(Options())},
      {"torch.nn.functional.embedding_bag(%a, %b, %c)", {flat, w, offsets}, expected(Options())},
      {"torch.nn.functional.embedding_bag(%a, %b, mode='max')",
       {rows, w},
       expected(Options().mode(torch::kMax))},
      {"torch.nn.functional.embedding_bag(%a, %b, mode='sum', scale_grad_by_freq=True)",
       {rows, w},
       expected(Options().mode(torch::kSum).scale_grad_by_freq(true))},
      {"torch.nn.functional.embedding_bag(%a, %b, mode='sum', per_sample_weights=%c)",
       {rows, w, factors},
       expected(Options().mode(torch::kSum))},
      {"torch.nn.functional.embedding_bag(%a, %b, %c, include_last_offset=True)",
       {flat, w, at::tensor({0, 4, 9}, at::kLong)},
       expected(Options().include_last_offset(true))},
      {"torch.nn.functional.embedding_bag(%a, %b, padding_idx=-1)",
       {rows, w},
       expected(Options().padding_idx(5))},
      {"torch.nn.functional.embedding_bag(%a, %b, None, 1.0, 1)",
       {rows, w},
       expected(Options().max_norm(1.0).norm_type(1)),
       /*gradients=*/false},
  });
}

TEST(Linear, ErrorsNameTheArgument) {
  const at::Tensor rows = integers({3, 4}, 0, 6), w = normal({6, 5});
  EXPECT_THAT(
      [&] {
        evaluate("torch.nn.functional.embedding(%a, %b, 6)", {rows, w});
      },
      ThrowsMessage<Error>("padding_idx must be within num_embeddings, got 6 for 6 rows\n"
                           "  in operator 'embedding' with input=Tensor[3, 4] int64, "
                           "weight=Tensor[6, 5] float32"));
  EXPECT_THAT(
      [&] {
        evaluate("torch.nn.functional.embedding_bag(%a, %b, mode='min')", {rows, w});
      },
      ThrowsMessage<Error>(HasSubstr("mode must be one of sum, mean, max; got 'min'")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.nn.functional.embedding_bag(%a, %b)", {rows[0], w});
      },
      ThrowsMessage<Error>(HasSubstr("offsets must be given for a 1-D input and only then")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.linear(%a)", {w}); },
              ThrowsMessage<Error>("argument 'weight' is missing; the signature is (input, weight, "
                                   "bias=None)\n  in a call of torch.nn.functional.linear"));
}

TEST(Linear, ModulesStartAsInLibtorch) {
  expect_state({"torch.nn.Linear", {5, 4}}, {"weight[4, 5]", "bias[4]"});
  expect_state({"torch.nn.Linear", {5, 4, false}}, {"weight[4, 5]", "bias None"});
  expect_state({"torch.nn.modules.linear.NonDynamicallyQuantizableLinear", {5, 4}},
               {"weight[4, 5]", "bias[4]"});
  expect_state({"torch.nn.Bilinear", {5, 6, 4}}, {"weight[4, 5, 6]", "bias[4]"});
  expect_state({"torch.nn.Bilinear", {5, 6, 4}, {{"bias", false}}},
               {"weight[4, 5, 6]", "bias None"});
  expect_state({"torch.nn.Embedding", {7, 3}, {{"padding_idx", -1}}}, {"weight[7, 3]"});
  expect_state({"torch.nn.EmbeddingBag", {7, 3}}, {"weight[7, 3]"});

  expect_drawn_like({"torch.nn.Linear", {5, 4}}, [] { return torch::nn::Linear(5, 4).ptr(); });
  expect_drawn_like({"torch.nn.Bilinear", {5, 6, 4}},
                    [] { return torch::nn::Bilinear(5, 6, 4).ptr(); });
  expect_drawn_like({"torch.nn.Embedding", {7, 3, -2}}, [] {
    return torch::nn::Embedding(torch::nn::EmbeddingOptions(7, 3).padding_idx(5)).ptr();
  });
  expect_drawn_like({"torch.nn.EmbeddingBag", {7, 3}},
                    [] { return torch::nn::EmbeddingBag(7, 3).ptr(); });

  const at::Tensor given = normal({7, 3});
  EXPECT_TRUE(at::equal(
      create_state({"torch.nn.Embedding", {7, 3}, {{"_weight", given}}}).parameters[0].second,
      given));
  EXPECT_THAT(
      [&] {
        create_state({"torch.nn.Embedding", {7, 4}, {{"_weight", given}}});
      },
      ThrowsMessage<Error>("_weight must have shape [num_embeddings, embedding_dim] = [7, 4], "
                           "got [7, 3]"));
}

}  // namespace
}  // namespace sparsebit::fx::test::linear_test
