// Registers an operator: one entry defines named arguments, a function form, a module form and,
// with the kernel, gradients.

#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

#include <cmath>
#include <iostream>

using namespace sparsebit;  // NOLINT: an example

/// x * sigmoid(beta * x)
void add_swish_beta() {
  fx::operators().add({.name = "swish_beta",
                       .schema = "input, beta=1.0",
                       .forms = {"acme.swish_beta"},
                       .modules = {{.type = "acme.SwishBeta", .constructor = "beta=1.0"}},
                       .kernel = [](const fx::Args& a) -> fx::Value {
                         const at::Tensor x = a.tensor("input");
                         return x * at::sigmoid(a.number("beta") * x);
                       }});
}

class Model : public nn::Module {
 public:
  Model() : Module("Model", "x") {
    add_module("act", nn::layer("acme.SwishBeta", {}, {{"beta", 2.0}}));
  }

  nn::Value forward(const nn::Args& in) override {
    return call("act", nn::call_function("acme.swish_beta", {in["x"]}, {{"beta", 0.0}}) * 2);
  }
};

int main() {
  add_swish_beta();
  Model model;
  std::cout << fx::to_text(fx::Tracer().trace(model)->graph());

  const at::Tensor x = at::ones({1}).requires_grad_();
  const at::Tensor y = model(x).tensor();
  y.backward();
  std::cout << "swish_beta(1) = " << y.item<float>() << ", gradient " << x.grad().item<float>()
            << "\n";
  return std::abs(y.item<float>() - 0.880797f) < 1e-6f ? 0 : 1;
}
