#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::linear_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;

/// The Add is carried because of its second result, and reads the product then.
TEST(OnnxLinear, AnAddThatIsNotUnderstoodLeavesTheProduct) {
  const auto module = ModelBuilder(13)
                          .input("x", {2, 3})
                          .constant("w", at::randn({3, 2}))
                          .constant("b", at::randn({2}))
                          .node("MatMul", {"x", "w"}, {"m"})
                          .node("Add", {"m", "b"}, {"y", "z"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"torch.nn.Linear", "onnx.Add", "operator.getitem"}));
  EXPECT_THAT(text_of(*module), testing::HasSubstr("the result \\'z\\' is not supported"));
  ASSERT_TRUE(module->find_module("MatMul_0"));
  EXPECT_FALSE(module->find_module("MatMul_0")->own_parameters()["bias"].defined());
}

TEST(OnnxLinear, GemmOfIntegersGivesIntegers) {
  const Tensor x = at::tensor({1, 2, 3, 20000001}, at::kInt).view({2, 2});
  const Tensor w = at::tensor({1, 0, 2, 1}, at::kInt).view({2, 2});
  const Tensor addend = at::tensor({1, 3}, at::kInt);
  const struct { double alpha, beta; } cases[] = {{1.0, 1.0}, {2.0, 1.0}, {1.0, 3.0}, {0.5, 0.25}};
  for (const auto& c : cases) {
    const auto module =
        ModelBuilder(13)
            .input("x", {2, 2}, at::kInt)
            .constant("w", w)
            .constant("c", addend)
            .node("Gemm", {"x", "w", "c"}, {"y"}, {{"alpha", c.alpha}, {"beta", c.beta}})
            .output("y")
            .import();
    const Tensor y = run(*module, {x})[0];
    EXPECT_EQ(y.scalar_type(), at::kInt);
    const Tensor product = x.to(at::kDouble).matmul(w.to(at::kDouble));
    const Tensor expected = product * c.alpha + addend.to(at::kDouble) * c.beta;
    EXPECT_TRUE(y.equal(expected.to(at::kInt))) << y << expected;
  }
}

}  // namespace
}  // namespace sparsebit::test::linear_test
