#include "nn/layer_case.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::nn::test {
namespace {

std::set<std::string>& tested_types() {
  static std::set<std::string> types;
  return types;
}

struct Outcome {
  Tensors outputs, input_gradients;
};

void flatten_value(const Value& value, Tensors& out) {
  if (value.is_tensor()) out.push_back(value.tensor());
  if (!value.is_sequence()) return;
  for (const Value& item : value.items()) flatten_value(item, out);
}

template <class Run>
Outcome run(const Tensors& inputs, Run run_layer) {
  Outcome outcome;
  Tensors leaves, copies;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.clone());
    if (input.is_floating_point()) leaves.back().requires_grad_();
    copies.push_back(input.is_floating_point() ? leaves.back().clone() : leaves.back());
  }
  at::manual_seed(3);  // dropout draws the same mask
  outcome.outputs = run_layer(copies);
  at::Tensor loss = at::zeros({});
  at::Generator weights = at::detail::createCPUGenerator(5);
  for (const at::Tensor& out : outcome.outputs) {
    if (out.requires_grad()) loss = loss + (out * at::randn(out.sizes(), weights)).sum();
  }
  if (loss.requires_grad()) loss.backward();
  for (const at::Tensor& leaf : leaves) outcome.input_gradients.push_back(leaf.grad());
  return outcome;
}

void expect_same(const at::Tensor& ours, const at::Tensor& theirs, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(ours.defined(), theirs.defined()) << what;
  if (!ours.defined()) return;
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
  EXPECT_TRUE(
      at::allclose(ours.detach(), theirs.detach(), tolerance, tolerance, /*equal_nan=*/true))
      << what << " differs by " << (ours - theirs).abs().max().item<double>();
}

void expect_same(const Tensors& ours, const Tensors& theirs, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (size_t i = 0; i < ours.size(); ++i) expect_same(ours[i], theirs[i], tolerance, what);
}

void load_state(const LayerCase& c) {
  fx::NamedTensors state;
  for (const auto& item : c.theirs->named_parameters())
    state.insert(item.key(), item.value().detach());
  for (const auto& item : c.theirs->named_buffers())
    state.insert(item.key(), item.value().detach());
  c.ours->load_state_dict(state);
}

void expect_same_state(const LayerCase& c) {
  const auto parameters = c.ours->named_parameters();
  for (const auto& item : c.theirs->named_parameters()) {
    expect_same(parameters[item.key()].grad(), item.value().grad(), c.tolerance,
                "gradient of " + item.key());
  }
  const auto buffers = c.ours->named_buffers();
  for (const auto& item : c.theirs->named_buffers()) {
    expect_same(buffers[item.key()], item.value(), c.tolerance, "buffer " + item.key());
  }
}

void check(const LayerCase& c, bool training) {
  c.ours->train(training);
  c.ours->zero_grad();
  if (c.theirs) {
    c.theirs->train(training);
    c.theirs->zero_grad();
  }
  const Outcome ours = run(c.inputs, [&](const Tensors& in) {
    Tensors out;
    flatten_value(c.ours->invoke(std::vector<Value>(in.begin(), in.end())), out);
    return out;
  });
  const Outcome theirs = run(c.inputs, c.run_theirs);
  ASSERT_FALSE(ours.outputs.empty());
  expect_same(ours.outputs, theirs.outputs, c.tolerance, "output");
  expect_same(ours.input_gradients, theirs.input_gradients, c.tolerance, "input gradient");
  if (c.theirs) expect_same_state(c);
}

/// After all tests: every module type of the vocabulary was compared with libtorch.
class CoverageCheck : public testing::Environment {
 public:
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const std::string& spelling : fx::operators().spellings()) {
      if (!fx::operators().get(spelling).module) continue;
      EXPECT_TRUE(tested_types().contains(spelling))
          << spelling << " is not compared with libtorch";
    }
  }
};
[[maybe_unused]] const auto* const kCoverage = testing::AddGlobalTestEnvironment(new CoverageCheck);

}  // namespace

void expect_equal_to_libtorch(const std::vector<LayerCase>& cases) {
  for (const LayerCase& c : cases) {
    SCOPED_TRACE(c.ours->describe());
    tested_types().insert(c.ours->type());
    try {
      if (c.theirs) load_state(c);
      for (const bool training : {true, false}) {
        SCOPED_TRACE(training ? "train mode" : "eval mode");
        check(c, training);
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace sparsebit::nn::test
