#include "fx/ops/op_case.h"
#include "fx/ops/tested_spellings.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/jit.h>

namespace sparsebit::fx::test {
namespace {

void flatten_into(const c10::IValue& value, Tensors& out) {
  if (value.isTensor()) {
    out.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) flatten_into(item, out);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) flatten_into(item, out);
  } else if (value.isScalar()) {
    out.push_back(at::scalar_tensor(value.toScalar()));
  }
}

Tensors run_torchscript(const std::string& call, const Tensors& inputs) {
  std::string body = call;
  std::erase(body, '%');
  std::string names;
  std::vector<c10::IValue> stack;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names += (i ? ", " : "") + std::string(1, static_cast<char>('a' + i));
    stack.emplace_back(inputs[i]);
  }
  const auto unit = torch::jit::compile("def f(" + names + "):\n  return " + body + "\n");
  Tensors out;
  flatten_into(unit->get_function("f")(stack), out);
  return out;
}

struct Outcome {
  Tensors outputs, inputs_after, gradients;
};

template <class Run>
Outcome run(const OpCase& c, Run run_call) {
  Outcome outcome;
  Tensors leaves, inputs;
  for (const at::Tensor& t : c.inputs) {
    at::Tensor leaf = t.clone();
    const bool differentiable = c.gradients && at::isFloatingType(t.scalar_type());
    if (differentiable) leaf.requires_grad_();
    leaves.push_back(leaf);
    inputs.push_back(differentiable ? leaf.clone() : leaf);  // in-place forms need a non-leaf
  }
  at::manual_seed(7);  // random operators draw the same numbers
  outcome.outputs = run_call(inputs);
  outcome.inputs_after = inputs;
  at::Tensor loss = at::zeros({});
  at::Generator weights = at::detail::createCPUGenerator(11);
  for (const at::Tensor& out : outcome.outputs) {
    if (out.requires_grad())
      loss = loss + (out * at::randn(out.sizes(), weights, out.scalar_type())).sum();
  }
  if (loss.requires_grad()) loss.backward();
  for (const at::Tensor& leaf : leaves) outcome.gradients.push_back(leaf.grad());
  return outcome;
}

void expect_close(const at::Tensor& ours, const at::Tensor& theirs, double tolerance,
                  const char* what) {
  ASSERT_EQ(ours.defined(), theirs.defined()) << what;
  if (!ours.defined()) return;
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
  ASSERT_EQ(ours.scalar_type(), theirs.scalar_type()) << what;
  EXPECT_TRUE(
      at::allclose(ours.detach(), theirs.detach(), tolerance, tolerance, /*equal_nan=*/true))
      << what << "\nours:\n"
      << ours << "\nlibtorch:\n"
      << theirs;
}

void expect_close(const Tensors& ours, const Tensors& theirs, double tolerance, const char* what) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (size_t i = 0; i < ours.size(); ++i) expect_close(ours[i], theirs[i], tolerance, what);
}

/// After all tests: every function and method of the vocabulary was compared with libtorch.
class CoverageCheck : public testing::Environment {
 public:
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const std::string& spelling : operators().spellings()) {
      const bool module = operators().get(spelling).module != nullptr;  // tested in tests/nn
      const bool onnx = spelling.starts_with("onnx.");  // tested by ONNX's conformance data
      EXPECT_TRUE(module || onnx || tested_spellings().contains(spelling))
          << spelling << " is not compared with libtorch by any OpCase";
    }
  }
};
[[maybe_unused]] const auto* const kCoverage = testing::AddGlobalTestEnvironment(new CoverageCheck);

}  // namespace

void expect_equal_to_libtorch(const std::vector<OpCase>& cases) {
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.call);
    try {
      const Outcome ours = run(c, [&](const Tensors& in) { return flatten(evaluate(c.call, in)); });
      const Outcome theirs = run(c, [&](const Tensors& in) {
        return c.expected ? c.expected(in) : run_torchscript(c.call, in);
      });
      ASSERT_FALSE(ours.outputs.empty()) << "nothing to compare";
      expect_close(ours.outputs, theirs.outputs, c.tolerance, "output");
      expect_close(ours.inputs_after, theirs.inputs_after, c.tolerance, "input after the call");
      expect_close(ours.gradients, theirs.gradients, c.tolerance, "gradient");
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace sparsebit::fx::test
