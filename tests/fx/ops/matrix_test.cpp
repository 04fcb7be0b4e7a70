#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/distance.h>
#include <torch/nn/functional/normalization.h>

#include <limits>

namespace sparsebit::fx::test::matrix_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Matrix, ProductsEqualLibtorch) {
  const at::Tensor a = normal({3, 4}), b = normal({4, 5}), v = normal({4}), u = normal({4});
  const at::Tensor batch = normal({2, 3, 4}), other = normal({2, 4, 5});
  const auto matmul = [](Tensors t) { return Tensors{t[0].matmul(t[1])}; };
  expect_equal_to_libtorch({
      {"torch.matmul(%a, %b)", {a, b}},
      {"torch.matmul(%a, other=%b)", {batch, b}},
      {"torch.matmul(%a, %b)", {v, u}},
      {"%a.matmul(%b)", {batch, v}},
      {"operator.matmul(%a, %b)", {batch, other}, matmul},
      {"torch.mm(%a, %b)", {a, b}},
      {"%a.mm(mat2=%b)", {a, b}},
      {"torch.bmm(%a, %b)", {batch, other}},
      {"%a.bmm(%b)", {batch, other}},
      {"torch.mv(%a, %b)", {a, v}},
      {"%a.mv(vec=%b)", {a, v}},
      {"torch.dot(%a, %b)", {v, u}},
      {"%a.dot(tensor=%b)", {v, u}},
      {"torch.outer(%a, %b)", {v, normal({3})}},
      {"%a.outer(vec2=%b)", {v, normal({3})}},
      {"torch.ger(%a, %b)", {v, u}},
      {"%a.ger(%b)", {v, u}},
      {"torch.kron(%a, %b)", {a, b}},
      {"%a.kron(%b)", {a, b}},
      {"torch.det(%a)", {normal({2, 3, 3})}},
      {"torch.linalg.det(A=%a)",
       {normal({3, 3})},
       [](Tensors t) { return Tensors{at::det(t[0])}; }},
      {"%a.det()", {normal({3, 3})}},
      {"torch.einsum('bij,bjk->bik', [%a, %b])", {batch, other}},
      {"torch.einsum('bij,bjk,k->bi', %a, %b, %c)",
       {batch, other, normal({5})},
       [](Tensors t) { return Tensors{at::einsum("bij,bjk,k->bi", t)}; }},
      {"torch.einsum('ij->ji', %a)", {a}, [](Tensors t) { return Tensors{t[0].t()}; }},
  });
}

TEST(Matrix, AccumulatedProductsEqualLibtorch) {
  const at::Tensor x = normal({3, 5}), a = normal({3, 4}), b = normal({4, 5});
  const at::Tensor xs = normal({2, 3, 5}), left = normal({2, 3, 4}), right = normal({2, 4, 5});
  expect_equal_to_libtorch({
      // The TorchScript compiler splits this one into mm and add.
      {"torch.addmm(%a, %b, %c)", {x, a, b}, nullptr, true, 1e-6},
      {"torch.addmm(%a, %b, %c, beta=0.5, alpha=2)", {normal({5}), a, b}},
      {"%a.addmm(mat1=%b, mat2=%c, alpha=0.5)", {x, a, b}},
      {"%a.addmm_(%b, %c, beta=2)", {x, a, b}},
      {"torch.addbmm(%a, %b, %c, alpha=0.5)", {x, left, right}},
      {"%a.addbmm(%b, %c)", {x, left, right}},
      {"%a.addbmm_(%b, %c)", {x, left, right}},
      {"torch.baddbmm(%a, batch1=%b, batch2=%c)", {normal({1, 1, 1}), left, right}},
      {"%a.baddbmm(%b, %c, beta=3)", {xs, left, right}},
      {"%a.baddbmm_(%b, %c, alpha=3)", {xs, left, right}},
  });
}

TEST(Matrix, BetaZeroIgnoresTheInput) {
  const at::Tensor nan = at::full({2, 3, 5}, std::numeric_limits<float>::quiet_NaN());
  const at::Tensor left = normal({2, 3, 4}), right = normal({2, 4, 5});
  expect_equal_to_libtorch({
      {"torch.baddbmm(%a, %b, %c, beta=0, alpha=0.25)",
       {normal({2, 3, 5}), left, right},
       [](Tensors t) { return Tensors{t[0] * 0 + t[1].bmm(t[2]) * 0.25}; },
       true,
       1e-6},
      {"%a.baddbmm_(%b, %c, beta=0.0, alpha=0.25)",
       {nan, left, right},
       [](Tensors t) { return Tensors{t[0].copy_(t[1].bmm(t[2]) * 0.25)}; },
       true,
       1e-6},
  });
  EXPECT_FALSE(evaluate("torch.baddbmm(%a, %b, %c, beta=0)", {nan, left, right})
                   .tensor()
                   .isnan()
                   .any()
                   .item<bool>());
}

TEST(Matrix, DistancesEqualLibtorch) {
  const at::Tensor x = normal({4, 3}), y = normal({4, 3}), many = normal({2, 30, 3});
  const auto normalized = [](const F::NormalizeFuncOptions& options) {
    return [=](Tensors t) { return Tensors{F::normalize(t[0], options)}; };
  };
  expect_equal_to_libtorch({
      {"torch.cross(%a, %b)", {x, y}},
      {"torch.cross(%a, %b, dim=-1)", {x, y}},
      {"%a.cross(%b, 1)", {x, y}},
      {"torch.linalg.cross(%a, %b)",
       {normal({3, 3}), normal({3, 3})},
       [](Tensors t) { return Tensors{at::linalg_cross(t[0], t[1])}; }},
      {"torch.linalg.cross(%a, %b, dim=0)",
       {normal({3, 3}), normal({3, 3})},
       [](Tensors t) { return Tensors{at::linalg_cross(t[0], t[1], 0)}; }},
      {"torch.cosine_similarity(%a, %b)", {x, y}},
      {"torch.cosine_similarity(%a, %b, dim=0, eps=0.5)", {x, y}},
      {"torch.nn.functional.cosine_similarity(%a, %b, -1)",
       {x, y},
       [](Tensors t) {
         return Tensors{F::cosine_similarity(t[0], t[1], F::CosineSimilarityFuncOptions().dim(-1))};
       }},
      {"torch.pairwise_distance(%a, %b)", {x, y}},
      {"torch.nn.functional.pairwise_distance(%a, %b, 1.0, keepdim=True)",
       {x, y},
       [](Tensors t) {
         return Tensors{F::pairwise_distance(
             t[0], t[1], F::PairwiseDistanceFuncOptions().p(1.0).keepdim(true))};
       }},
      {"torch.cdist(%a, %b)", {x, y}, [](Tensors t) { return Tensors{at::cdist(t[0], t[1], 2)}; }},
      {"torch.cdist(%a, %b, 1.0)",
       {x, y},
       [](Tensors t) { return Tensors{at::cdist(t[0], t[1], 1)}; }},
      {"torch.cdist(%a, %b, compute_mode='donot_use_mm_for_euclid_dist')",
       {many, normal({2, 31, 3})},
       [](Tensors t) { return Tensors{at::cdist(t[0], t[1], 2, 2)}; }},
      {"torch.nn.functional.normalize(%a)", {x}, normalized(F::NormalizeFuncOptions())},
      {"torch.nn.functional.normalize(%a, p=1, dim=-2, eps=3.0)",
       {x},
       normalized(F::NormalizeFuncOptions().p(1).dim(-2).eps(3.0))},
      {"torch.nn.functional.normalize(%a, 2.0, (1, 2))",
       {many},
       [](Tensors t) {
         return Tensors{t[0] / t[0].norm(2.0, {1, 2}, true).clamp_min(1e-12).expand_as(t[0])};
       }},
  });
}

TEST(Matrix, ModulesHaveNoState) {
  expect_state({"torch.nn.CosineSimilarity"}, {});
  expect_state({"torch.nn.PairwiseDistance", {1.0}}, {});
}

TEST(Matrix, ErrorsNameTheArgument) {
  const at::Tensor x = normal({4, 3});
  EXPECT_THAT([&] { evaluate("torch.cdist(%a, %a, compute_mode='fast')", {x}); },
              ThrowsMessage<Error>(
                  HasSubstr("compute_mode must be one of use_mm_for_euclid_dist_if_necessary, "
                            "use_mm_for_euclid_dist, donot_use_mm_for_euclid_dist; got 'fast'")));
  EXPECT_THAT([&] { evaluate("torch.matmul(%a, 2)", {x}); },
              ThrowsMessage<Error>(
                  HasSubstr("wrong type; expected a tensor, found int 2\n  in argument 'other'")));
  EXPECT_THAT(
      [&] { evaluate("torch.mm(%a, %a)", {x}); },
      ThrowsMessage<Error>("PyTorch refused this: mat1 and mat2 shapes cannot be multiplied (4x3 "
                           "and 4x3)\n  in operator "
                           "'mm' with input=Tensor[4, 3] float32, mat2=Tensor[4, 3] float32"));
}

}  // namespace
}  // namespace sparsebit::fx::test::matrix_test
