#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <set>

namespace sparsebit::test::recurrent_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

constexpr int64_t kTime = 4, kBatch = 2, kInputs = 3, kHidden = 5;

struct Network {
  const char* type;
  const char* layer;
  int64_t gates;
  std::vector<Attribute> attributes;
  Names outputs;
};

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"LSTM", "torch.nn.LSTM", 4, {}, {"y", "h", "c"}},
      {"GRU", "torch.nn.GRU", 3, {{"linear_before_reset", int64_t{1}}}, {"y", "h"}},
      {"RNN", "torch.nn.RNN", 1, {}, {"y", "h"}},
  };
  return all;
}

/// The same network twice: with constant weights, which becomes a layer of torch, and with weights
/// as inputs, which does not.
class RecurrentModel {
 public:
  RecurrentModel(const Network& network, int64_t directions, bool batch_first)
      : network_(network), directions_(directions), batch_first_(batch_first) {
    const int64_t rows = network.gates * kHidden;
    weights_ = {at::randn({directions, rows, kInputs}), at::randn({directions, rows, kHidden}),
                at::randn({directions, 2 * rows})};
    const Ints state =
        batch_first ? Ints{kBatch, directions, kHidden} : Ints{directions, kBatch, kHidden};
    inputs_ = {at::randn(batch_first ? Ints{kBatch, kTime, kInputs} : Ints{kTime, kBatch, kInputs}),
               at::randn(state)};
    if (network.type == std::string("LSTM")) inputs_.push_back(at::randn(state));
  }

  std::unique_ptr<fx::GraphModule> import(bool constant_weights) const {
    ModelBuilder model(14);
    Names names = {"x", "w", "r", "b", "", "h0"};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      model.input(Names{"x", "h0", "c0"}[i], inputs_[i].sizes().vec());
    }
    if (inputs_.size() == 3) names.emplace_back("c0");
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (constant_weights) model.constant(names[i + 1], weights_[i]);
      if (!constant_weights) model.input(names[i + 1], weights_[i].sizes().vec());
    }
    std::vector<Attribute> attributes = network_.attributes;
    attributes.push_back({"hidden_size", kHidden});
    attributes.push_back({"layout", int64_t{batch_first_}});
    if (directions_ == 2) attributes.push_back({"direction", "bidirectional"});
    model.node(network_.type, names, network_.outputs, attributes);
    for (const std::string& name : network_.outputs) model.output(name);
    return model.import();
  }

  std::vector<Tensor> inputs(bool constant_weights) const {
    std::vector<Tensor> all = inputs_;
    if (!constant_weights) all.insert(all.end(), weights_.begin(), weights_.end());
    return all;
  }

 private:
  Network network_;
  int64_t directions_;
  bool batch_first_;
  std::vector<Tensor> weights_, inputs_;
};

TEST(OnnxRecurrent, LayersOfTorchAndOurStepsAgree) {
  for (const Network& network : networks()) {
    for (const int64_t directions : {1, 2}) {
      for (const bool batch_first : {false, true}) {
        const RecurrentModel model(network, directions, batch_first);
        const auto layer = model.import(true), steps = model.import(false);
        EXPECT_THAT(calls(*layer), testing::Contains(network.layer));
        EXPECT_THAT(calls(*steps), testing::Contains(std::string("onnx.") + network.type));
        const auto found = run(*layer, model.inputs(true)),
                   expected = run(*steps, model.inputs(false));
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << network.type << directions;
          EXPECT_TRUE(found[i].allclose(expected[i], 1e-4, 1e-5)) << network.type << i;
        }
      }
    }
  }
}

/// A shorter sequence gives the same result as alone, followed by zeros.
TEST(OnnxRecurrent, SequencesOfDifferentLengths) {
  for (const char* direction : {"forward", "reverse"}) {
    const auto build = [&](int64_t time, int64_t batch) {
      return ModelBuilder(14)
          .input("x", {time, batch, 1})
          .input("n", {batch}, at::kInt)
          .constant("w", at::full({1, 2, 1}, 0.5))
          .constant("r", at::full({1, 2, 2}, 0.25))
          .node("RNN", {"x", "w", "r", "", "n"}, {"y", "h"},
                {{"hidden_size", int64_t{2}}, {"direction", direction}})
          .output("y")
          .output("h")
          .import();
    };
    const Tensor x = at::randn({3, 2, 1});
    const auto both = run(*build(3, 2), {x, at::tensor({3, 2}, at::kInt)});
    const auto alone = run(*build(2, 1), {x.slice(0, 0, 2).slice(1, 1), at::tensor({2}, at::kInt)});
    EXPECT_TRUE(both[0].slice(0, 0, 2).slice(2, 1).allclose(alone[0])) << direction;
    EXPECT_TRUE(both[1].slice(1, 1).allclose(alone[1])) << direction;
    EXPECT_EQ(both[0][2][0][1].abs().max().item<float>(), 0);
  }
}

TEST(OnnxRecurrent, ActivationsAndClip) {
  const auto module =
      ModelBuilder(14)
          .input("x", {1, 1, 1})
          .constant("w", at::full({1, 1, 1}, 2.0))
          .constant("r", at::zeros({1, 1, 1}))
          .node("RNN", {"x", "w", "r"}, {"", "h"},
                {{"hidden_size", int64_t{1}}, {"clip", 3.0}, {"direction", "reverse"}})
          .output("h")
          .import();
  EXPECT_FLOAT_EQ(run(*module, {at::full({1, 1, 1}, 5.0)})[0].item<float>(), std::tanh(3.0F));
}

TEST(OnnxRecurrent, NamesOfActivationsArrive) {
  const auto module = ModelBuilder(14)
                          .input("x", {1, 1, 1})
                          .constant("w", at::full({1, 1, 1}, 2.0))
                          .constant("r", at::zeros({1, 1, 1}))
                          .node("RNN", {"x", "w", "r"}, {"", "h"},
                                {{"hidden_size", int64_t{1}}, {"activations", Names{"Softsign"}}})
                          .output("h")
                          .import();
  EXPECT_FLOAT_EQ(run(*module, {at::full({1, 1, 1}, 1.0)})[0].item<float>(), 2.0F / 3.0F);
}

std::string error_with(int64_t hidden, const Ints& w, const Ints& r, const Ints& b = {1, 40}) {
  return import_error(ModelBuilder(14)
                          .input("x", {kTime, kBatch, kInputs})
                          .constant("w", at::zeros(w))
                          .constant("r", at::zeros(r))
                          .constant("b", at::zeros(b))
                          .node("LSTM", {"x", "w", "r", "b"}, {"", "h"}, {{"hidden_size", hidden}})
                          .output("h"));
}

TEST(OnnxRecurrent, SizesThatDoNotBelongTogetherAreErrors) {
  using testing::HasSubstr;
  const std::string node = "'h' (LSTM): ";
  EXPECT_EQ(error_with(kHidden, {1, 20, 3}, {1, 20, 5}), "");
  EXPECT_THAT(error_with(-5, {1, 20, 3}, {1, 20, 5}),
              HasSubstr(node + "hidden_size is -5, and a state has at least one feature"));
  EXPECT_THAT(error_with(0, {1, 20, 3}, {1, 20, 5}), HasSubstr(node + "hidden_size is 0, and"));
  EXPECT_THAT(error_with(7, {1, 20, 3}, {1, 20, 5}),
              HasSubstr(node + "hidden_size is 7, but R of shape [1, 20, 5] is made for 5"));
  EXPECT_THAT(error_with(5, {1, 16, 3}, {1, 20, 5}),
              HasSubstr(node + "W has shape [1, 16, 3], expected [1, 20, -1] (-1: any)"));
  EXPECT_THAT(error_with(5, {1, 20, 3}, {1, 16, 5}),
              HasSubstr(node + "R has shape [1, 16, 5], expected [1, 20, 5] (-1: any)"));
  EXPECT_THAT(error_with(5, {20, 3}, {20, 5}), HasSubstr(node + "R has 2 axes, expected 3"));
  EXPECT_THAT(error_with(5, {1, 20, 3}, {1, 20, 5}, {1, 20}),
              HasSubstr(node + "B has shape [1, 20], expected [1, 40] (-1: any)"));
  const std::string absurd =
      import_error(ModelBuilder(14)
                       .input("x", {kTime, kBatch, kInputs})
                       .input("w", {-1, -1, -1})
                       .input("r", {-1, -1, -1})
                       .node("GRU", {"x", "w", "r"}, {"", "h"}, {{"hidden_size", int64_t{1} << 62}})
                       .output("h"));
  EXPECT_THAT(absurd, HasSubstr("'h' (GRU): hidden_size is 4611686018427387904; at most 16777216 "
                                "can be read"));
}

/// Torch's order of gates needs a copy of the weights; many nodes with the same weights need one.
TEST(OnnxRecurrent, NodesWithTheSameWeightsShareThem) {
  const auto module = ModelBuilder(14)
                          .input("x", {kTime, kBatch, kInputs})
                          .constant("w", at::randn({1, 4 * kHidden, kInputs}))
                          .constant("r", at::randn({1, 4 * kHidden, kHidden}))
                          .constant("b", at::randn({1, 8 * kHidden}))
                          .node("LSTM", {"x", "w", "r", "b"}, {"", "h"})
                          .node("LSTM", {"x", "w", "r", "b"}, {"", "g"})
                          .node("Add", {"h", "g"}, {"y"})
                          .output("y")
                          .import();
  std::set<const void*> places;
  size_t layers = 0;
  for (const fx::Node& node : module->graph().nodes()) {
    if (node.op() != fx::Opcode::CallModule) continue;
    ++layers;
    for (const auto& item : module->find_module(node.target())->own_parameters()) {
      places.insert(item.value().data_ptr());
    }
  }
  EXPECT_EQ(layers, 2U);
  EXPECT_EQ(places.size(), 4U);
}

}  // namespace
}  // namespace sparsebit::test::recurrent_test
