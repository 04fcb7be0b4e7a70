#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/activation.h>

#include <cmath>
#include <limits>

namespace sparsebit::fx::test::attention_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The formula of torch 2's documentation. `bias` is added to the scores.
Tensors attend(const Tensors& t, double scale, const at::Tensor& bias, double dropout = 0.0) {
  const at::Tensor scores = t[0].matmul(t[1].transpose(-2, -1)) * scale + bias;
  return {at::dropout(scores.softmax(-1), dropout, true).matmul(t[2])};
}

at::Tensor forbid(const at::Tensor& mask) {
  return at::zeros(mask.sizes()).masked_fill(mask, -std::numeric_limits<double>::infinity());
}

TEST(Attention, ScaledDotProductFollowsItsFormula) {
  const at::Tensor q = normal({2, 3, 5, 8}), k = normal({2, 3, 6, 8}), v = normal({2, 3, 6, 4});
  const at::Tensor allowed = booleans({5, 6}).logical_or(at::eye(5, 6).to(at::kBool));
  const at::Tensor causal = at::ones({5, 6}, at::kBool).tril().logical_not();
  const double scale = 1 / std::sqrt(8.0);
  const std::string f = "torch.nn.functional.scaled_dot_product_attention";
  expect_equal_to_libtorch({
      {f + "(%a, %b, %c)",
       {q, k, v},
       [=](Tensors t) { return attend(t, scale, at::zeros({})); },
       true,
       1e-5},
      {f + "(%a, %b, %c)",
       {q, k, v},
       [=](Tensors t) {
         return Tensors{std::get<0>(at::_scaled_dot_product_attention(t[0], t[1], t[2]))};
       },
       true,
       1e-5},
      {f + "(%a, %b, %c, %d)",
       {q, k, v, normal({3, 5, 6})},
       [=](Tensors t) { return attend(t, scale, t[3]); },
       true,
       1e-5},
      {f + "(%a, %b, %c, attn_mask=%d)",
       {q, k, v, allowed},
       [=](Tensors t) { return attend(t, scale, forbid(t[3].logical_not())); },
       true,
       1e-5},
      {f + "(%a, %b, %c, is_causal=True)",
       {q, k, v},
       [=](Tensors t) { return attend(t, scale, forbid(causal)); },
       true,
       1e-5},
      {f + "(%a, %b, %c, scale=0.5)",
       {q[0], k[0], v[0]},
       [=](Tensors t) { return attend(t, 0.5, at::zeros({})); },
       true,
       1e-5},
      {f + "(%a, %b, %c, None, 0.3)",
       {q, k, v},
       [=](Tensors t) { return attend(t, scale, at::zeros({}), 0.3); },
       true,
       1e-5},
  });
  EXPECT_THAT(
      [&] {
        evaluate(f + "(%a, %b, %c, %d, is_causal=True)", {q, k, v, allowed});
      },
      ThrowsMessage<Error>(HasSubstr("attn_mask and is_causal=True exclude each other")));
}

/// Parameters of attention with 8 features and 2 heads, as inputs %d.. of a case.
struct Weights {
  at::Tensor in = normal({24, 8}), in_bias = normal({24}), out = normal({8, 8}),
             out_bias = normal({8});
  at::Tensor q = normal({8, 8}), k = normal({8, 6}), v = normal({8, 6});
  at::Tensor bias_k = normal({1, 1, 8}), bias_v = normal({1, 1, 8});
};

using Options = F::MultiheadAttentionForwardFuncOptions;

Tensors forward(const Tensors& t, const Options& options) {
  const auto [out, weights] = F::multi_head_attention_forward(t[0], t[1], t[2], options);
  return weights.defined() ? Tensors{out, weights} : Tensors{out};
}

const std::string kFunction = "torch.nn.functional.multi_head_attention_forward";
// Arguments up to out_proj_bias, packed projection.
const std::string kPacked = "(%a, %b, %c, 8, 2, %d, %e, None, None, False, 0.0, %f, %g";

TEST(Attention, MultiHeadEqualsLibtorch) {
  const Weights w;
  const at::Tensor q = normal({5, 3, 8}), k = normal({4, 3, 8}), v = normal({4, 3, 8});
  const Tensors inputs = {q, k, v, w.in, w.in_bias, w.out, w.out_bias};
  const auto options = [](const Tensors& t) {
    return Options(8, 2, t[3], t[4], {}, {}, false, 0.0, t[5], t[6]);
  };
  const auto with = [](Tensors t, std::initializer_list<at::Tensor> more) {
    t.insert(t.end(), more);
    return t;
  };
  at::Tensor padding = booleans({3, 4});
  padding.select(1, 1).fill_(false);
  const at::Tensor future = at::ones({5, 4}, at::kBool).triu(1);
  expect_equal_to_libtorch({
      {kFunction + kPacked + ")", inputs, [=](Tensors t) { return forward(t, options(t)); }, true,
       1e-5},
      {kFunction + kPacked + ", training=False, need_weights=False)", inputs,
       [=](Tensors t) { return forward(t, options(t).training(false).need_weights(false)); }, true,
       1e-5},
      {kFunction + kPacked + ", average_attn_weights=False)", inputs,
       [=](Tensors t) { return forward(t, options(t).average_attn_weights(false)); }, true, 1e-5},
      {kFunction + kPacked + ", key_padding_mask=%h)", with(inputs, {padding}),
       [=](Tensors t) { return forward(t, options(t).key_padding_mask(t[7])); }, true, 1e-5},
      {kFunction + kPacked + ", attn_mask=%h)", with(inputs, {future}),
       [=](Tensors t) { return forward(t, options(t).attn_mask(forbid(t[7]))); }, true, 1e-5},
      {kFunction + kPacked + ", attn_mask=%h, key_padding_mask=%i)",
       with(inputs, {normal({5, 4}), padding}),
       [=](Tensors t) { return forward(t, options(t).attn_mask(t[7]).key_padding_mask(t[8])); },
       true, 1e-5},
      {kFunction + kPacked + ", key_padding_mask=%h)", with(inputs, {forbid(padding)}),
       [=](Tensors t) { return forward(t, options(t).key_padding_mask(padding)); }, false, 1e-5},
      {kFunction + "(%a, %a, %a, 8, 2, %b, None, None, None, True, 0.0, %c, None)",
       {q, w.in, w.out},
       [=](Tensors t) {
         return forward({t[0], t[0], t[0]}, Options(8, 2, t[1], {}, {}, {}, true, 0.0, t[2], {}));
       },
       true,
       1e-5},
      {kFunction + "(%a, %b, %b, 8, 2, %c, %d, None, None, False, 0.0, %e, None)",
       {q, k, w.in, w.in_bias, w.out},
       [=](Tensors t) {
         return forward({t[0], t[1], t[1]},
                        Options(8, 2, t[2], t[3], {}, {}, false, 0.0, t[4], {}));
       },
       true,
       1e-5},
      {kFunction + "(%a, %b, %c, 8, 2, %d, %e, %h, %i, False, 0.0, %f, %g, attn_mask=%j)",
       with(inputs, {w.bias_k, w.bias_v, normal({5, 4})}),
       [=](Tensors t) {
         return forward(
             t, Options(8, 2, t[3], t[4], t[7], t[8], false, 0.0, t[5], t[6]).attn_mask(t[9]));
       },
       true, 1e-5},
      {kFunction +
           "(%a, %b, %c, 8, 2, %d, %e, None, None, False, dropout_p=0.4, out_proj_weight=%f, "
           "out_proj_bias=%g)",
       inputs,
       [=](Tensors t) {
         return forward(t, Options(8, 2, t[3], t[4], {}, {}, false, 0.4, t[5], t[6]));
       },
       true, 1e-5},
  });
}

TEST(Attention, MaskMayDifferPerBatchAndHead) {
  const Weights w;
  const at::Tensor x = normal({5, 3, 8}), masks = normal({6, 5, 5});
  const auto weights = [&](const at::Tensor& mask) {
    const std::string call = kFunction + kPacked + ", attn_mask=%h, average_attn_weights=False)";
    return flatten(evaluate(call, {x, x, x, w.in, w.in_bias, w.out, w.out_bias, mask}))[1];
  };
  const at::Tensor all = weights(masks);  // [batch, head, target, source]
  for (const int64_t i : {0, 3, 4}) {
    EXPECT_TRUE(at::allclose(all[i / 2][i % 2], weights(masks[i])[i / 2][i % 2], 1e-5, 1e-5));
  }
}

TEST(Attention, SeparateProjectionsEqualLibtorch) {
  const Weights w;
  const at::Tensor q = normal({5, 3, 8}), k = normal({4, 3, 6}), v = normal({4, 3, 6});
  const auto expected = [](Tensors t) {
    return forward(t, Options(8, 2, {}, t[3], {}, {}, false, 0.0, t[4], t[5])
                          .use_separate_proj_weight(true)
                          .q_proj_weight(t[6])
                          .k_proj_weight(t[7])
                          .v_proj_weight(t[8]));
  };
  const Tensors inputs = {q, k, v, w.in_bias, w.out, w.out_bias, w.q, w.k, w.v};
  const std::string call = kFunction +
                           "(%a, %b, %c, 8, 2, None, %d, None, None, False, 0.0, %e, %f, "
                           "q_proj_weight=%g, k_proj_weight=%h, v_proj_weight=%i";
  expect_equal_to_libtorch({
      {call + ", use_separate_proj_weight=True)", inputs, expected, true, 1e-5},
      {call + ")", inputs, expected, true, 1e-5},
  });
}

TEST(Attention, LayoutsAgree) {
  const Weights w;
  const at::Tensor q = normal({5, 3, 8}), k = normal({4, 3, 8}), v = normal({4, 3, 8});
  const Tensors rest = {w.in, w.in_bias, w.out, w.out_bias};
  const auto run = [&](Tensors inputs, const std::string& more) {
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    return flatten(evaluate(kFunction + kPacked + more + ")", inputs));
  };
  const Tensors base = run({q, k, v}, "");
  const Tensors first =
      run({q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)}, ", batch_first=True");
  EXPECT_TRUE(at::allclose(first[0], base[0].transpose(0, 1), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(first[1], base[1], 1e-5, 1e-5));
  const Tensors single =
      run({q.select(1, 2), k.select(1, 2), v.select(1, 2)}, ", batch_first=True");
  EXPECT_TRUE(at::allclose(single[0], base[0].select(1, 2), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(single[1], base[1][2], 1e-5, 1e-5));
}

TEST(Attention, StaticKeysReplaceProjectedOnes) {
  const Weights w;
  const at::Tensor q = normal({5, 3, 8}), k = normal({4, 3, 8});
  expect_equal_to_libtorch({
      {kFunction +
           "(%a, %b, %b, 8, 2, %c, %d, None, None, False, 0.0, %e, None, static_k=%f, static_v=%g)",
       {q, k, w.in, w.in_bias, w.out, normal({6, 7, 4}), normal({6, 7, 4})},
       [](Tensors t) {
         return forward(
             {t[0], t[1], t[1]},
             Options(8, 2, t[2], t[3], {}, {}, false, 0.0, t[4], {}).static_k(t[5]).static_v(t[6]));
       },
       true,
       1e-5},
  });
}

TEST(Attention, ErrorsTellTheRule) {
  const Weights w;
  const at::Tensor x = normal({5, 3, 8});
  const auto call = [&](const at::Tensor& query, const std::string& more, const at::Tensor& mask) {
    return [=] {
      evaluate(kFunction + kPacked + more + ")",
               {query, query, query, w.in, w.in_bias, w.out, w.out_bias, mask});
    };
  };
  EXPECT_THAT(call(normal({5, 3, 6}), "", x),
              ThrowsMessage<Error>(HasSubstr("query must have embed_dim = 8 features, got 6")));
  EXPECT_THAT(
      [&] {
        evaluate(kFunction + "(%a, %b, %a, 8, 2, None, None, None, None, False, 0.0, %b, None)",
                 {normal({5, 8}), normal({8, 8, 8, 8})});
      },
      ThrowsMessage<Error>(HasSubstr("query, key and value must have the same rank, got 2 and 4")));
  EXPECT_THAT(
      call(x, ", attn_mask=%h", normal({5, 4})),
      ThrowsMessage<Error>(HasSubstr("attn_mask must have shape [5, 5] or [6, 5, 5], got [5, 4]")));
  EXPECT_THAT(
      call(x, ", key_padding_mask=%h", normal({5, 3})),
      ThrowsMessage<Error>(HasSubstr("key_padding_mask must have shape [3, 5], got [5, 3]")));
  EXPECT_THAT(call(x, ", attn_mask=%h", integers({5, 5}, 0, 2)),
              ThrowsMessage<Error>(HasSubstr("attn_mask must be bool or floating, got int64")));
  EXPECT_THAT(
      [] {
        create_state({"torch.nn.MultiheadAttention", {8, 3}});
      },
      ThrowsMessage<Error>("num_heads must divide embed_dim, got 3 and 8"));
}

TEST(Attention, ModulesStartAsInLibtorch) {
  const char* const type = "torch.nn.MultiheadAttention";
  expect_state({type, {8, 2}}, {"in_proj_weight[24, 8]", "q_proj_weight None", "k_proj_weight None",
                                "v_proj_weight None", "in_proj_bias[24]", "bias_k None",
                                "bias_v None", "out_proj.weight[8, 8]", "out_proj.bias[8]"});
  expect_state({type, {8, 2}, {{"bias", false}, {"add_bias_kv", true}, {"kdim", 6}, {"vdim", 5}}},
               {"in_proj_weight None", "q_proj_weight[8, 8]", "k_proj_weight[8, 6]",
                "v_proj_weight[8, 5]", "in_proj_bias None", "bias_k[1, 1, 8]", "bias_v[1, 1, 8]",
                "out_proj.weight[8, 8]", "out_proj.bias None"});
  using ModuleOptions = torch::nn::MultiheadAttentionOptions;
  expect_drawn_like({type, {8, 2}},
                    [] { return torch::nn::MultiheadAttention(ModuleOptions(8, 2)).ptr(); });
  expect_drawn_like({type, {8, 2}, {{"add_bias_kv", true}, {"kdim", 6}, {"vdim", 5}}}, [] {
    return torch::nn::MultiheadAttention(ModuleOptions(8, 2).add_bias_kv(true).kdim(6).vdim(5))
        .ptr();
  });
}

}  // namespace
}  // namespace sparsebit::fx::test::attention_test
