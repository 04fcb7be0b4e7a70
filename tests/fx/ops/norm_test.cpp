#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/batchnorm.h>
#include <torch/nn/functional/instancenorm.h>
#include <torch/nn/functional/normalization.h>
#include <torch/nn/modules/batchnorm.h>

namespace sparsebit::fx::test::norm_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Norm, BatchNormEqualsLibtorch) {
  const at::Tensor x = normal({4, 3, 5}), mean = normal({3}), var = positive({3});
  const at::Tensor weight = normal({3}), bias = normal({3});
  const auto batch_norm = [](F::BatchNormFuncOptions options) {
    return [=](Tensors t) mutable {
      if (t.size() > 3) options.weight(t[3]).bias(t[4]);
      return Tensors{F::batch_norm(t[0], t[1].detach(), t[2].detach(), options)};
    };
  };
  expect_equal_to_libtorch({
      {"torch.nn.functional.batch_norm(%a, %b, %c)",
       {x, mean, var},
       batch_norm(F::BatchNormFuncOptions()),
       /*gradients=*/false},
      {"torch.nn.functional.batch_norm(%a, %b, %c, %d, %e, eps=0.1)",
       {x, mean, var, weight, bias},
       batch_norm(F::BatchNormFuncOptions().eps(0.1)),
       /*gradients=*/false},
      {"torch.nn.functional.batch_norm(%a, %b, %c, %d, %e, training=True, momentum=0.3)",
       {x, mean, var, weight, bias},
       batch_norm(F::BatchNormFuncOptions().training(true).momentum(0.3)),
       /*gradients=*/false},
      {"torch.nn.functional.batch_norm(%a, None, None, %b, %c, True)",
       {x, weight, bias},
       [](Tensors t) {
         return Tensors{F::batch_norm(
             t[0], {}, {}, F::BatchNormFuncOptions().weight(t[1]).bias(t[2]).training(true))};
       }},
      {"torch.batch_norm(%a, %b, %c, None, None, True, 0.1, 1e-05, True)", {x, weight, bias}},
      {"torch.batch_norm(%a, None, None, %b, %c, False, 0.1, 0.001, False)",
       {x, mean, var},
       nullptr,
       /*gradients=*/false},
  });
}

/// Our batch norm with a module's arguments against libtorch's module, over several batches.
void expect_same_training(const std::string& arguments, torch::nn::BatchNorm2dOptions options) {
  SCOPED_TRACE(arguments);
  torch::nn::BatchNorm2d theirs(options);
  const ModuleState ours = create_state({"torch.nn.BatchNorm2d", {3}});
  at::Tensor mean, var, batches;
  if (options.track_running_stats()) {
    mean = ours.buffers[0].second;
    var = ours.buffers[1].second;
    batches = ours.buffers[2].second;
  }
  for (const bool training : {true, true, false, true}) {
    theirs->train(training);
    const at::Tensor x = normal({4, 3, 5, 2});
    const std::string statistics = options.track_running_stats() ? "%b, %c" : "None, None";
    const std::string call = "torch.nn.functional.batch_norm(%a, " + statistics +
                             ", training=" + (training ? "True, " : "False, ") + arguments + ")";
    const Value y = evaluate(call, {x, mean, var, batches});
    EXPECT_TRUE(at::equal(y.tensor(), theirs(x)));
    if (!options.track_running_stats()) continue;
    EXPECT_TRUE(at::equal(mean, theirs->running_mean));
    EXPECT_TRUE(at::equal(var, theirs->running_var));
    EXPECT_TRUE(at::equal(batches, theirs->num_batches_tracked));
  }
}

TEST(Norm, BatchNormUpdatesRunningStatisticsAsTheModule) {
  using Options = torch::nn::BatchNorm2dOptions;
  expect_same_training("num_batches_tracked=%d, track_running_stats=True, spatial_dims=2",
                       Options(3).affine(false));
  expect_same_training("num_batches_tracked=%d, track_running_stats=True, momentum=0.7",
                       Options(3).affine(false).momentum(0.7));
  expect_same_training("num_batches_tracked=%d, track_running_stats=True, momentum=None",
                       Options(3).affine(false).momentum(c10::nullopt));
  expect_same_training("track_running_stats=False",
                       Options(3).affine(false).track_running_stats(false));
}

TEST(Norm, InstanceNormEqualsLibtorch) {
  const at::Tensor x = normal({2, 3, 5, 4}), weight = normal({3}), bias = normal({3});
  const auto plain = [](Tensors t) { return Tensors{F::instance_norm(t[0])}; };
  const auto affine = [](Tensors t) {
    return Tensors{
        F::instance_norm(t[0], F::InstanceNormFuncOptions().weight(t[1]).bias(t[2]).eps(0.1))};
  };
  expect_equal_to_libtorch({
      {"torch.nn.functional.instance_norm(%a)", {x}, plain},
      {"torch.nn.functional.instance_norm(%a, None, None, %b, %c, eps=0.1)",
       {x, weight, bias},
       affine},
      {"torch.instance_norm(%a, %b, %c, None, None, True, 0.1, 0.1, True)",
       {x, weight, bias},
       affine},
      {"torch.nn.functional.instance_norm(%a, %b, %c, use_input_stats=False)",
       {x, normal({3}), positive({3})},
       [](Tensors t) {
         return Tensors{F::instance_norm(
             t[0],
             F::InstanceNormFuncOptions().running_mean(t[1]).running_var(t[2]).use_input_stats(
                 false))};
       },
       /*gradients=*/false},
      // As the modules call it.
      {"torch.nn.functional.instance_norm(%a, track_running_stats=False, spatial_dims=2)",
       {x},
       plain},
      {"torch.nn.functional.instance_norm(%a, track_running_stats=False, spatial_dims=3)",
       {x},
       [](Tensors t) { return Tensors{F::instance_norm(t[0].unsqueeze(0)).squeeze(0)}; }},
      {"torch.nn.functional.instance_norm(%a, %b, %c, training=True, track_running_stats=True)",
       {x, normal({3}), positive({3})},
       [](Tensors t) {
         return Tensors{F::instance_norm(
             t[0], F::InstanceNormFuncOptions().running_mean(t[1]).running_var(t[2]))};
       },
       /*gradients=*/false},
      {"torch.nn.functional.instance_norm(%a, %b, %c, track_running_stats=True)",
       {x, normal({3}), positive({3})},
       [](Tensors t) {
         return Tensors{at::batch_norm(t[0], {}, {}, t[1], t[2], false, 0.1, 1e-5, false)};
       },
       /*gradients=*/false,
       /*tolerance=*/1e-6},
  });
}

TEST(Norm, LayerAndGroupNormEqualLibtorch) {
  const at::Tensor x = normal({2, 6, 5, 4}), plane = normal({5, 4}), channels = normal({6});
  expect_equal_to_libtorch({
      {"torch.layer_norm(%a, [5, 4])", {x}},
      {"torch.layer_norm(%a, [5, 4], %b, %c, 0.1, True)", {x, plane, normal({5, 4})}},
      {"torch.nn.functional.layer_norm(%a, 4, eps=0.1)",
       {x},
       [](Tensors t) {
         return Tensors{F::layer_norm(t[0], F::LayerNormFuncOptions({4}).eps(0.1))};
       }},
      {"torch.nn.functional.layer_norm(%a, (5, 4), bias=%c, weight=%b)",
       {x, plane, normal({5, 4})},
       [](Tensors t) {
         return Tensors{
             F::layer_norm(t[0], F::LayerNormFuncOptions({5, 4}).weight(t[1]).bias(t[2]))};
       }},
      {"torch.group_norm(%a, 3)", {x}},
      {"torch.group_norm(%a, 2, %b, %c, 0.1)", {x, channels, normal({6})}},
      {"torch.nn.functional.group_norm(%a, 3, %b)",
       {x, channels},
       [](Tensors t) {
         return Tensors{F::group_norm(t[0], F::GroupNormFuncOptions(3).weight(t[1]))};
       }},
  });
}

TEST(Norm, LocalResponseNormEqualsLibtorch) {
  const auto expected = [](const F::LocalResponseNormFuncOptions& options) {
    return [=](Tensors t) { return Tensors{F::local_response_norm(t[0], options)}; };
  };
  using Options = F::LocalResponseNormFuncOptions;
  expect_equal_to_libtorch({
      {"torch.nn.functional.local_response_norm(%a, 3)", {normal({2, 7, 5})}, expected(Options(3))},
      {"torch.nn.functional.local_response_norm(%a, 4, alpha=0.1)",
       {normal({2, 7, 5, 4})},
       expected(Options(4).alpha(0.1))},
      {"torch.nn.functional.local_response_norm(%a, 2, 0.2, 0.5, 2.0)",
       {normal({2, 7, 3, 2, 4})},
       expected(Options(2).alpha(0.2).beta(0.5).k(2.0))},
  });
}

TEST(Norm, ErrorsTellTheRule) {
  const at::Tensor x = normal({1, 3});
  EXPECT_THAT(
      [&] { evaluate("torch.nn.functional.batch_norm(%a, None, None, training=True)", {x}); },
      ThrowsMessage<Error>(HasSubstr(
          "expected more than 1 value per channel when training, got input size [1, 3]")));
  EXPECT_THAT(
      [&] { evaluate("torch.nn.functional.batch_norm(%a, None, None, spatial_dims=2)", {x}); },
      ThrowsMessage<Error>(HasSubstr("expected 4-D input, got 2-D")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.instance_norm(%a, spatial_dims=2)", {x}); },
              ThrowsMessage<Error>(HasSubstr("expected 3-D or 4-D input, got 2-D")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.nn.functional.instance_norm(%a)", {normal({2, 3, 1, 1})});
      },
      ThrowsMessage<Error>(HasSubstr("expected more than 1 spatial element when training")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.local_response_norm(%a, 3)", {x}); },
              ThrowsMessage<Error>(HasSubstr("expected an input of at least 3 dimensions, got 2")));
  EXPECT_THAT([&] { evaluate("torch.nn.functional.group_norm(%a, 0)", {x}); },
              ThrowsMessage<Error>(HasSubstr("num_groups must be positive, got 0")));
}

TEST(Norm, ModulesStartAsInLibtorch) {
  const std::vector<std::string> affine = {"weight[3]", "bias[3]"},
                                 plain = {"weight None", "bias None"};
  const std::vector<std::string> tracked = {"running_mean[3]", "running_var[3]",
                                            "num_batches_tracked[]"};
  const std::vector<std::string> untracked = {"running_mean None", "running_var None",
                                              "num_batches_tracked None"};
  for (const char* type : {"torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d",
                           "torch.nn.SyncBatchNorm"}) {
    expect_state({type, {3}}, affine, tracked);
  }
  expect_state({"torch.nn.BatchNorm2d", {3, 1e-3, None{}, false, false}}, plain, untracked);
  for (const char* type :
       {"torch.nn.InstanceNorm1d", "torch.nn.InstanceNorm2d", "torch.nn.InstanceNorm3d"}) {
    expect_state({type, {3}}, plain, untracked);
    expect_state({type, {3}, {{"affine", true}, {"track_running_stats", true}}}, affine, tracked);
  }
  expect_state({"torch.nn.LayerNorm", {4}}, {"weight[4]", "bias[4]"});
  expect_state({"torch.nn.LayerNorm", {List{5, 4}, 1e-6}}, {"weight[5, 4]", "bias[5, 4]"});
  expect_state({"torch.nn.LayerNorm", {4}, {{"elementwise_affine", false}}}, plain);
  expect_state({"torch.nn.GroupNorm", {2, 6}}, {"weight[6]", "bias[6]"});
  expect_state({"torch.nn.GroupNorm", {2, 6}, {{"affine", false}}}, plain);
  expect_state({"torch.nn.LocalResponseNorm", {2}}, {});

  const ModuleState state = create_state({"torch.nn.BatchNorm2d", {3}});
  EXPECT_TRUE(at::equal(state.parameters[0].second, at::ones({3})));
  EXPECT_TRUE(at::equal(state.parameters[1].second, at::zeros({3})));
  EXPECT_TRUE(at::equal(state.buffers[0].second, at::zeros({3})));
  EXPECT_TRUE(at::equal(state.buffers[1].second, at::ones({3})));
  EXPECT_EQ(state.buffers[2].second.scalar_type(), at::kLong);
}

}  // namespace
}  // namespace sparsebit::fx::test::norm_test
