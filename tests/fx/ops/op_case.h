#pragma once

#include "sparsebit/fx/ops/value.h"

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::fx::test {

using Tensors = std::vector<at::Tensor>;

// Seeded inputs. Floating inputs take part in the gradient check.
at::Tensor normal(std::vector<int64_t> shape);    ///< N(0, 1)
at::Tensor positive(std::vector<int64_t> shape);  ///< uniform in [0.5, 2)
at::Tensor integers(std::vector<int64_t> shape, int64_t low,
                    int64_t high);  ///< int64 in [low, high)
at::Tensor booleans(std::vector<int64_t> shape);

/// One call written as text, evaluated by Sparsebit and by libtorch.
///
///     {"torch.add(%a, %b, alpha=2)", {normal({2, 3}), normal({3})}}
///     {"%a.view(2, -1)", {normal({4, 3})}}
///     {"torch.nn.functional.silu(%a)", {normal({4})}, [](Tensors t) { return
///     Tensors{at::silu(t[0])}; }}
///
/// Inputs are called %a, %b, %c, ... Without `expected`, libtorch's own TorchScript compiler
/// evaluates the same text; that covers `torch.*` functions and tensor methods.
struct OpCase {
  std::string call;
  Tensors inputs;
  std::function<Tensors(Tensors)> expected = nullptr;
  bool gradients = true;   ///< off for operators without a derivative
  double tolerance = 0.0;  ///< 0 = bit for bit
};

/// Results, gradients and the inputs after the call (in-place forms) must agree.
void expect_equal_to_libtorch(const std::vector<OpCase>& cases);

/// Evaluates the call with our operator table only. Numbers come back as numbers.
Value evaluate(const std::string& call, const Tensors& inputs);

/// A call with a plain result, written as describe() does: {"operator.add(2, 3)", "int 5"}.
struct PlainCase {
  std::string call;
  std::string result;
  Tensors inputs = {};
};
void expect_plain_results(const std::vector<PlainCase>& cases);

/// The message of the error that the call throws; empty when there is none.
std::string error_of(const std::string& call, const Tensors& inputs = {});

/// Tensors inside a value, numbers and bools as 0-dim tensors, in order.
Tensors flatten(const Value& value);

}  // namespace sparsebit::fx::test
