#include "sparsebit/metrics/embedding.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::metrics::embedding_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

const at::Tensor kTokens = at::tensor({3.f, 0.f, 0.f, 4.f, 90.f, 90.f}).reshape({1, 3, 2});

TEST(Embedding, WhichOutput) {
  const NamedOutput tokens{"last_hidden_state", kTokens};
  const NamedOutput pooler{"pooler_output", at::ones({1, 2})};
  const NamedOutput sentence{"sentence_embedding", at::ones({1, 2})};
  EXPECT_EQ(describe(*find_embedding({tokens, sentence})), "'sentence_embedding'");
  EXPECT_EQ(describe(*find_embedding({pooler, tokens})),
            "mean over the tokens of 'last_hidden_state'");
  EXPECT_EQ(describe(*find_embedding({pooler})), "'pooler_output'");
  EXPECT_FALSE(find_embedding({{"logits", at::ones({1, 2})}}));
  EXPECT_FALSE(find_embedding({{"1234", kTokens}}));
  EXPECT_EQ(find_embedding({{"1234", kTokens}}, /*any_tokens=*/true)->output, "1234");
  EXPECT_FALSE(find_embedding({{"logits", kTokens}}, true));
}

TEST(Embedding, PaddingIsNotPooled) {
  const at::Tensor mask = at::tensor({1, 1, 0}).reshape({1, 3});
  const at::Tensor mean = embed({"h", Pooling::Mean}, {{"h", kTokens}}, mask);
  EXPECT_TRUE(at::allclose(mean, at::tensor({0.6, 0.8}, at::kDouble).reshape({1, 2})));
  const at::Tensor first = embed({"h", Pooling::First}, {{"h", kTokens}}, mask);
  EXPECT_TRUE(at::allclose(first, at::tensor({1., 0.}, at::kDouble).reshape({1, 2})));
}

TEST(Embedding, WrongOutputs) {
  EXPECT_THAT(
      [] {
        embed({"x", Pooling::Given}, {{"h", kTokens}}, {});
      },
      testing::ThrowsMessage<Error>("there is no output 'x'; the model outputs h [1, 3, 2]"));
  EXPECT_THAT(
      [] {
        embed({"h", Pooling::Given}, {{"h", kTokens}}, {});
      },
      testing::ThrowsMessage<Error>(
          "the output 'h' is [1, 3, 2]; an embedding needs [batch, size]"));
}

TEST(Embedding, SimilaritiesOfAllPairs) {
  const at::Tensor rows = at::tensor({1., 0., 0., 1., 0.6, 0.8}, at::kDouble).reshape({3, 2});
  EXPECT_THAT(pair_similarities(rows),
              ElementsAre(DoubleNear(0, 1e-12), DoubleNear(0.6, 1e-12), DoubleNear(0.8, 1e-12)));
}

}  // namespace
}  // namespace sparsebit::metrics::embedding_test
