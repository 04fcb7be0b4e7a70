// Fine-tuning an imported model has the same effect as fine-tuning the original.

#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::train_test {
namespace {

constexpr double kRate = 0.1;

at::Tensor loss_of(const fx::Value& result) {
  at::Tensor loss = at::zeros({});
  for (const at::Tensor& tensor : tensors_in(result)) loss = loss + (tensor * tensor).sum();
  return loss;
}

void step(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  for (at::Tensor parameter : parameters) {
    if (parameter.grad().defined()) parameter.sub_(parameter.grad() * kRate);
  }
}

/// The parameters, each once: libtorch lists those of a shared module at each of its paths.
std::vector<at::Tensor> parameters_of(const torch::jit::Module& module) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& parameter : module.parameters()) {
    const bool known = std::any_of(result.begin(), result.end(),
                                   [&](const at::Tensor& t) { return t.is_same(parameter); });
    if (!known) result.push_back(parameter);
  }
  return result;
}

/// One step of gradient descent on both models; returns both losses.
std::pair<double, double> train_once(Reference& reference, fx::GraphModule& imported) {
  at::manual_seed(3);
  const at::Tensor expected = loss_of(reference.run());
  expected.backward();
  step(parameters_of(reference.module));
  at::manual_seed(3);
  const at::Tensor loss = loss_of(imported.invoke(as_values(reference.inputs)));
  loss.backward();
  std::vector<at::Tensor> parameters;
  for (const auto& item : imported.named_parameters()) parameters.push_back(item.value());
  step(parameters);
  return {expected.item<double>(), loss.item<double>()};
}

/// Compares every parameter and buffer of the original that is in the graph; returns their number.
size_t expect_same_state(const Reference& reference, const fx::GraphModule& imported) {
  size_t compared = 0;
  const auto compare = [&](const std::string& name, const at::Tensor& expected) {
    const at::Tensor* ours = imported.find_tensor(name);
    if (!ours) return;
    EXPECT_LE(difference(*ours, expected), 1e-5) << name;
    ++compared;
  };
  for (const auto& item : reference.module.named_parameters()) compare(item.name, item.value);
  for (const auto& item : reference.module.named_buffers()) compare(item.name, item.value);
  return compared;
}

struct TrainCase {
  const char* file;
  size_t tensors;
};

class Training : public ::testing::TestWithParam<TrainCase> {};

TEST_P(Training, ChangesWeightsAndStatisticsLikeTheOriginal) {
  Reference reference = load_reference(fixture(GetParam().file));
  const TorchScriptModel imported = import_torchscript(fixture(GetParam().file));
  reference.module.train();
  imported.module->train();
  const at::Tensor before = imported.module->named_parameters()[0].value().clone();
  for (int turn = 0; turn < 2; ++turn) {
    const auto [expected, loss] = train_once(reference, *imported.module);
    EXPECT_NEAR(loss, expected, 1e-5 * expected);
  }
  EXPECT_EQ(expect_same_state(reference, *imported.module), GetParam().tensors);
  EXPECT_GT((imported.module->named_parameters()[0].value() - before).abs().max().item<double>(),
            0);
}

INSTANTIATE_TEST_SUITE_P(
    TorchScript, Training,
    ::testing::Values(TrainCase{"convnet.scripted", 15}, TrainCase{"convnet.train.scripted", 15},
                      TrainCase{"convnet.train.traced", 15}, TrainCase{"residual.scripted", 9},
                      TrainCase{"residual.train.traced", 9}, TrainCase{"attention.scripted", 11},
                      TrainCase{"recurrent.scripted", 22}),
    [](const auto& info) {
      std::string name = info.param.file;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(TorchScriptModes, AreThoseOfTheFile) {
  EXPECT_TRUE(import_torchscript(fixture("convnet.train.scripted"))
                  .module->find_module("bn1")
                  ->is_training());
  EXPECT_TRUE(import_torchscript(fixture("convnet.train.traced"))
                  .module->find_module("bn1")
                  ->is_training());
  EXPECT_FALSE(
      import_torchscript(fixture("convnet.scripted")).module->find_module("bn1")->is_training());
  EXPECT_FALSE(
      import_torchscript(fixture("convnet.traced")).module->find_module("bn1")->is_training());
  EXPECT_TRUE(import_torchscript(fixture("convnet.train.scripted")).module->is_training());
  EXPECT_FALSE(import_torchscript(fixture("convnet.scripted")).module->is_training());
}

TEST(TorchScriptModes, TrainingCountsBatches) {
  const TorchScriptModel imported = import_torchscript(fixture("convnet.train.traced"));
  const Reference reference = load_reference(fixture("convnet.train.traced"));
  const at::Tensor count = *imported.module->find_tensor("bn1.num_batches_tracked");
  const int64_t before = count.item<int64_t>();
  imported.module->invoke(as_values(reference.inputs));
  EXPECT_EQ(count.item<int64_t>(), before + 1);
}

}  // namespace
}  // namespace sparsebit::frontends::testing::train_test
