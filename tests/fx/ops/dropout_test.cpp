#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/dropout.h>

namespace sparsebit::fx::test::dropout_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Dropout, ElementwiseEqualsLibtorch) {
  const at::Tensor x = normal({4, 50});
  const auto dropped = [](const F::DropoutFuncOptions& options) {
    return [=](Tensors t) { return Tensors{F::dropout(t[0], options)}; };
  };
  expect_equal_to_libtorch({
      {"torch.nn.functional.dropout(%a)", {x}, dropped(F::DropoutFuncOptions())},
      {"torch.nn.functional.dropout(%a, 0.3)", {x}, dropped(F::DropoutFuncOptions().p(0.3))},
      {"torch.nn.functional.dropout(%a, 0.3, False)",
       {x},
       dropped(F::DropoutFuncOptions().training(false))},
      {"torch.nn.functional.dropout(%a, p=0.3, inplace=True)",
       {x},
       dropped(F::DropoutFuncOptions().p(0.3).inplace(true))},
      {"torch.dropout(%a, 0.4, True)", {x}},
      {"torch.dropout(%a, p=0.4, train=False)", {x}},
      {"torch.dropout_(%a, 0.4, True)", {x}},
      {"torch.alpha_dropout(%a, 0.4, True)", {x}},
      {"torch.alpha_dropout_(%a, 0.4, train=True)", {x}},
      {"torch.nn.functional.alpha_dropout(%a, 0.4)", {x}, [](Tensors t) { return t; }},
      {"torch.nn.functional.alpha_dropout(%a, 0.4, True)",
       {x},
       [](Tensors t) {
         return Tensors{F::alpha_dropout(t[0], F::AlphaDropoutFuncOptions().p(0.4).training(true))};
       }},
  });
}

TEST(Dropout, OfChannelsEqualsLibtorch) {
  const at::Tensor line = normal({3, 20, 4}), image = normal({3, 20, 2, 2}),
                   volume = normal({2, 9, 2, 2, 2});
  const auto channels = [](double p) {
    return [=](Tensors t) { return Tensors{at::feature_dropout(t[0], p, true)}; };
  };
  const auto unbatched = [](double p) {
    return [=](Tensors t) {
      return Tensors{at::feature_dropout(t[0].unsqueeze(0), p, true).squeeze(0)};
    };
  };
  const auto unbatched_inplace = [](double p) {
    return [=](Tensors t) {
      return Tensors{
          t[0].mul_(at::feature_dropout(at::ones_like(t[0]).unsqueeze(0), p, true).squeeze(0))};
    };
  };
  expect_equal_to_libtorch({
      {"torch.nn.functional.dropout1d(%a)", {line}, channels(0.5)},
      {"torch.nn.functional.dropout1d(%a, 0.4)", {line[0]}, unbatched(0.4)},
      {"torch.nn.functional.dropout1d(%a, 0.4, inplace=True)", {line[0]}, unbatched_inplace(0.4)},
      {"torch.nn.functional.dropout2d(%a, 0.4)",
       {image},
       [](Tensors t) { return Tensors{F::dropout2d(t[0], F::Dropout2dFuncOptions().p(0.4))}; }},
      {"torch.nn.functional.dropout2d(%a, 0.4, training=False)",
       {image},
       [](Tensors t) { return t; }},
      {"torch.nn.functional.dropout2d(%a, inplace=True)",
       {image},
       [](Tensors t) { return Tensors{at::feature_dropout_(t[0], 0.5, true)}; }},
      {"torch.feature_dropout(%a, 0.4, True)", {line}},
      {"torch.feature_dropout_(%a, 0.4, True)", {line}},
      {"torch.nn.functional.dropout3d(%a, 0.4)",
       {volume},
       [](Tensors t) { return Tensors{F::dropout3d(t[0], F::Dropout3dFuncOptions().p(0.4))}; }},
      {"torch.nn.functional.dropout3d(%a, 0.4)", {volume[0]}, unbatched(0.4)},
      {"torch.feature_alpha_dropout(%a, 0.4, True)", {image}},
      {"torch.feature_alpha_dropout_(%a, 0.4, True)", {image}},
      {"torch.nn.functional.feature_alpha_dropout(%a, 0.4, training=True)",
       {image},
       [](Tensors t) {
         return Tensors{F::feature_alpha_dropout(
             t[0], F::FeatureAlphaDropoutFuncOptions().p(0.4).training(true))};
       }},
  });
}

TEST(Dropout, StochasticDepthDropsRowsOrBatches) {
  const at::Tensor x = normal({16, 3, 2, 2});
  const auto scaled = [](std::vector<int64_t> shape, double survival) {
    return [=](Tensors t) {
      return Tensors{t[0] * at::empty(shape).bernoulli_(survival).div_(survival)};
    };
  };
  expect_equal_to_libtorch({
      {"torchvision.ops.stochastic_depth(%a, 0.4, 'row')", {x}, scaled({16, 1, 1, 1}, 1 - 0.4)},
      {"torchvision.ops.stochastic_depth(%a, 0.4, mode='batch')",
       {x},
       scaled({1, 1, 1, 1}, 1 - 0.4)},
      {"torchvision.ops.stochastic_depth.stochastic_depth(%a, 0.4, 'row', training=True)",
       {x},
       scaled({16, 1, 1, 1}, 1 - 0.4)},
      {"torchvision.ops.stochastic_depth(%a, 0.4, 'row', False)", {x}, [](Tensors t) { return t; }},
      {"torchvision.ops.stochastic_depth(%a, 0.0, 'row')", {x}, [](Tensors t) { return t; }},
      {"torchvision.ops.stochastic_depth(%a, 1.0, 'row')",
       {x},
       [](Tensors t) {
         return Tensors{t[0] * at::zeros({16, 1, 1, 1})};
       }},
  });
}

TEST(Dropout, ErrorsTellTheRule) {
  const at::Tensor x = normal({2, 3, 4, 5});
  EXPECT_THAT([&] { evaluate("torch.nn.functional.dropout(%a, 1.5)", {x}); },
              ThrowsMessage<Error>(
                  HasSubstr("dropout probability has to be between 0 and 1, but got 1.5")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.dropout1d(%a)", {x}); },
              ThrowsMessage<Error>(HasSubstr("expected 2-D or 3-D input, got 4-D")));
  EXPECT_THAT([&] { evaluate("torchvision.ops.stochastic_depth(%a, 1.5, 'row')", {x}); },
              ThrowsMessage<Error>(HasSubstr("drop probability must be between 0 and 1, got 1.5")));
  EXPECT_THAT([&] { evaluate("torchvision.ops.stochastic_depth(%a, 0.5, 'column')", {x}); },
              ThrowsMessage<Error>(HasSubstr("mode must be 'batch' or 'row', got 'column'")));
}

TEST(Dropout, ModulesHaveNoState) {
  for (const char* kind :
       {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"}) {
    expect_state({c10::str("torch.nn.", kind), {0.1, true}}, {});
  }
  expect_state({"torchvision.ops.StochasticDepth", {0.1, "row"}}, {});
  expect_state({"torchvision.ops.stochastic_depth.StochasticDepth", {0.1, "row"}}, {});
}

}  // namespace
}  // namespace sparsebit::fx::test::dropout_test
