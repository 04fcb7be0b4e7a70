#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::activation_test {
namespace {

using at::Tensor;
using testing::ElementsAre;
using Calls = std::vector<std::string>;

Tensor numbers() { return at::linspace(-8, 8, 24).reshape({2, 3, 4}); }

/// One node with one input and constants, the expected call and the expected result.
struct Case {
  std::string name;
  int64_t opset;
  std::string type;
  std::vector<Attribute> attributes;
  std::vector<Tensor> constants;  ///< undefined: left out
  Calls calls;
  Tensor expected;
};

void expect_conversions(const std::vector<Case>& cases) {
  for (const Case& item : cases) {
    SCOPED_TRACE(item.name);
    ModelBuilder builder(item.opset);
    std::vector<std::string> inputs = {"x"};
    builder.input("x", {2, 3, 4});
    for (size_t i = 0; i < item.constants.size(); ++i) {
      const std::string name = "c" + std::to_string(i);
      const bool given = item.constants[i].defined();
      if (given) builder.constant(name, item.constants[i]);
      inputs.push_back(given ? name : "");
    }
    const auto module =
        builder.node(item.type, inputs, {"y"}, item.attributes).output("y").import();
    EXPECT_EQ(calls(*module), item.calls);
    const Tensor y = run(*module, {numbers()})[0];
    EXPECT_TRUE(at::allclose(y, item.expected, 1e-5, 1e-6)) << y << item.expected;
  }
}

Tensor number(double value) { return at::scalar_tensor(value); }

TEST(OnnxActivation, FormsThatTorchHas) {
  const Tensor x = numbers();
  expect_conversions({
      {"selu", 6, "Selu", {}, {}, {"torch.nn.functional.selu"}, at::selu(x)},
      {"own selu",
       6,
       "Selu",
       {{"alpha", 2.0}, {"gamma", 3.0}},
       {},
       {"torch.nn.functional.elu", "torch.mul"},
       at::elu(x, 2) * 3},
      {"hard sigmoid",
       6,
       "HardSigmoid",
       {{"alpha", 1.0 / 6.0}},
       {},
       {"torch.nn.functional.hardsigmoid"},
       at::hardsigmoid(x)},
      {"default hard sigmoid",
       6,
       "HardSigmoid",
       {},
       {},
       {"torch.mul", "torch.add", "torch.clamp"},
       (x * 0.2 + 0.5).clamp(0, 1)},
      {"hard shrink",
       9,
       "Shrink",
       {{"lambd", 2.0}},
       {},
       {"torch.nn.functional.hardshrink"},
       at::hardshrink(x, 2)},
      {"soft shrink",
       9,
       "Shrink",
       {{"lambd", 2.0}, {"bias", 2.0}},
       {},
       {"torch.nn.functional.softshrink"},
       at::softshrink(x, 2)},
      {"gelu",
       20,
       "Gelu",
       {{"approximate", "tanh"}},
       {},
       {"torch.nn.functional.gelu"},
       at::gelu(x, "tanh")},
      {"mish", 18, "Mish", {}, {}, {"torch.nn.functional.mish"}, at::mish(x)},
  });
}

TEST(OnnxActivation, ClipTakesAttributesThenInputs) {
  const Tensor x = numbers();
  expect_conversions({
      {"attributes", 6, "Clip", {{"min", -1.0}, {"max", 2.0}}, {}, {"torch.clamp"}, x.clamp(-1, 2)},
      {"one attribute", 10, "Clip", {{"max", 2.0}}, {}, {"torch.clamp"}, x.clamp_max(2)},
      {"inputs", 11, "Clip", {}, {number(-1), number(2)}, {"torch.clamp"}, x.clamp(-1, 2)},
      {"no lower bound", 13, "Clip", {}, {Tensor(), number(2)}, {"torch.clamp"}, x.clamp_max(2)},
      {"no bounds", 13, "Clip", {}, {}, {}, x},
      {"relu6",
       13,
       "Clip",
       {},
       {number(0), number(6)},
       {"torch.nn.functional.relu6"},
       at::relu6(x)},
      {"relu6 by attributes",
       6,
       "Clip",
       {{"min", 0.0}, {"max", 6.0}},
       {},
       {"torch.nn.functional.relu6"},
       at::relu6(x)},
  });
}

TEST(OnnxActivation, SoftmaxFlattensBeforeOperatorSet13) {
  const Tensor x = numbers();
  expect_conversions({
      {"flattened",
       11,
       "Softmax",
       {},
       {},
       {"torch.flatten", "torch.nn.functional.softmax", "Tensor.reshape_as"},
       at::softmax(x.flatten(1), -1).reshape_as(x)},
      {"last axis",
       11,
       "Softmax",
       {{"axis", int64_t{2}}},
       {},
       {"torch.nn.functional.softmax"},
       at::softmax(x, 2)},
      {"one axis",
       13,
       "LogSoftmax",
       {{"axis", int64_t{1}}},
       {},
       {"torch.nn.functional.log_softmax"},
       at::log_softmax(x, 1)},
      {"default axis", 13, "Softmax", {}, {}, {"torch.nn.functional.softmax"}, at::softmax(x, -1)},
  });
}

TEST(OnnxActivation, PReluIsALayerWhenSlopesBelongToChannels) {
  const Tensor x = numbers(), slopes = at::tensor({0.1F, 0.2F, 0.3F});
  const Tensor per_channel = slopes.reshape({3, 1}), each = at::rand({4});
  expect_conversions({
      {"per channel", 9, "PRelu", {}, {per_channel}, {"torch.nn.PReLU"}, at::prelu(x, slopes)},
      {"single", 9, "PRelu", {}, {at::tensor({0.5F})}, {"torch.nn.PReLU"}, at::leaky_relu(x, 0.5)},
      {"before operator set 7", 6, "PRelu", {}, {slopes}, {"torch.nn.PReLU"}, at::prelu(x, slopes)},
      {"along another axis",
       9,
       "PRelu",
       {},
       {each},
       {"torch.lt", "torch.mul", "torch.where"},
       at::where(x < 0, x * each, x)},
  });
}

TEST(OnnxActivation, DropoutIsALayerThatKeepsEverything) {
  const Tensor x = numbers();
  expect_conversions({
      {"attribute", 10, "Dropout", {{"ratio", 0.25}}, {}, {"torch.nn.Dropout"}, x},
      {"inputs",
       13,
       "Dropout",
       {},
       {number(0.25), at::scalar_tensor(false, at::kBool)},
       {"torch.nn.Dropout"},
       x},
  });
  const auto module = ModelBuilder(13)
                          .input("x", {2, 3})
                          .node("Dropout", {"x"}, {"y", "mask"})
                          .output("y")
                          .output("mask")
                          .import();
  EXPECT_TRUE(run(*module, {at::rand({2, 3})})[1].equal(at::ones({2, 3}, at::kBool)));
}

TEST(OnnxActivation, DropoutInTrainingDropsAndScales) {
  const auto module = ModelBuilder(13)
                          .input("x", {1000})
                          .constant("ratio", number(0.75))
                          .constant("training", at::scalar_tensor(true, at::kBool))
                          .node("Dropout", {"x", "ratio", "training"}, {"y", "mask"})
                          .output("y")
                          .output("mask")
                          .import();
  const Tensor x = at::rand({1000}) + 1;
  const std::vector<Tensor> results = run(*module, {x});
  EXPECT_TRUE(at::allclose(results[0], at::where(results[1], x * 4, at::zeros_like(x))));
  EXPECT_NEAR(results[1].to(at::kFloat).mean().item<double>(), 0.25, 0.1);
}

TEST(OnnxActivation, ErrorsNameTheNode) {
  ModelBuilder axis(13);
  axis.input("x", {2, 3}).node("Softmax", {"x"}, {"y"}, {{"axis", int64_t{2}}}).output("y");
  EXPECT_EQ(import_error(axis), "model: node 'y' (Softmax): axis is 2, its input has 2 axes");
  ModelBuilder ratio(13);
  ratio.input("x", {2}).constant("r", number(1.5)).node("Dropout", {"x", "r"}, {"y"}).output("y");
  EXPECT_EQ(import_error(ratio), "model: node 'y' (Dropout): the ratio is 1.5");
}

}  // namespace
}  // namespace sparsebit::test::activation_test
