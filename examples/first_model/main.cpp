// A model written in C++, traced into a graph, printed, edited and run.

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

/// x -> relu(bn(conv(x)) + x)
class Block : public nn::Module {
 public:
  explicit Block(int64_t channels) : Module("Block", "x") {
    add_module("conv", nn::Conv2d(channels, channels, 3, {{"padding", 1}, {"bias", false}}));
    add_module("bn", nn::BatchNorm2d(channels));
  }

  nn::Value forward(const nn::Args& in) override {
    return nn::relu(call("bn", call("conv", in["x"])) + in["x"]);
  }
};

class Classifier : public nn::Module {
 public:
  Classifier() : Module("Classifier", "image") {
    add_module("stem", nn::Conv2d(3, 8, 3, {{"stride", 2}, {"padding", 1}}));
    add_module("block", std::make_shared<Block>(8));
    add_module("head", nn::Linear(8, 10));
  }

  nn::Value forward(const nn::Args& in) override {
    const nn::Value x = call("block", call("stem", in["image"]));
    return call("head", nn::mean(x, {2, 3}));
  }
};

int main() {
  Classifier model;
  nn::reset_parameters(model, /*seed=*/1);
  model.eval();
  const at::Tensor image = at::ones({1, 3, 32, 32});

  // 1. One forward pass on placeholders gives the graph.
  const auto graph = fx::QTracer({}).trace(model);
  std::cout << "The graph, in FX's text form:\n\n" << fx::to_text(graph->graph()) << "\n";

  // 2. Shapes come from running it once.
  fx::record_shapes(*graph, {image});
  std::cout << "The same as a table, with shapes:\n\n" << fx::to_table(*graph) << "\n";

  // 3. The interpreter runs it; a hook sees every value.
  fx::Interpreter interpreter(*graph, fx::RunMode::Inference);
  double largest = 0;
  interpreter.add_hook({.before = {}, .after = [&](const fx::Node&, nn::Value& value) {
                          largest = std::max(largest, value.tensor().abs().max().item<double>());
                        }});
  const at::Tensor result = interpreter.run({image}).tensor();
  const bool same = at::equal(result, model(image).tensor());
  std::cout << "largest activation: " << largest << "\n"
            << "the graph gives the same result as the model: " << (same ? "yes" : "no") << "\n";
  return same ? 0 : 1;
}
