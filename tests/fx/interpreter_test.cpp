#include "sparsebit/fx/interpreter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sparsebit::fx::interpreter_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

GraphModule model(const char* text) { return {parse_graph(text), "Model"}; }

/// Counts bytes of CPU tensors while it is alive.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : original_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 1); }
  ~CountingAllocator() override { c10::SetCPUAllocator(original_, 1); }

  c10::DataPtr allocate(size_t bytes) const override {
    auto* block = new Block{original_->allocate(bytes), this, bytes};
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    void* data = block->memory.get();
    return {data, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void start() { peak_ = live_; }
  size_t peak() const { return peak_; }
  size_t live() const { return live_; }

 private:
  struct Block {
    c10::DataPtr memory;
    const CountingAllocator* owner;
    size_t bytes;
  };
  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->owner->live_ -= block->bytes;
  }

  c10::Allocator* original_;
  mutable size_t live_ = 0;
  mutable size_t peak_ = 0;
};

TEST(Interpreter, RunsEveryOpcode) {
  GraphModule module = model(R"(
      %x = input()
      %k = input(2)
      %w = self.w
      %a = torch.add(%x, %w, alpha=%k)
      %b = %a.view(1, -1)
      %c = self.act(%b)
      return {out: %c, n: [%k, 1]})");
  module.add_parameter("w", at::tensor({1.f, 1.f, -5.f}));
  module.add_module("act", nn::ReLU());
  Interpreter interpreter(module);
  const Value result = interpreter.run({at::tensor({1.f, 2.f, 3.f})});
  EXPECT_TRUE(at::equal(result.get<Dict>().find("out")->tensor(),
                        at::tensor({3.f, 4.f, 0.f}).view({1, 3})));
  EXPECT_EQ(*result.get<Dict>().find("n"), Value(List{2, 1}));
}

TEST(Interpreter, GradientsFlowInAutogradModeOnly) {
  GraphModule module = model("%x = input()\n%w = self.w\n%y = torch.mul(%x, %w)\nreturn %y");
  module.add_parameter("w", at::tensor({2.f}));
  const at::Tensor y = Interpreter(module).run({at::tensor({3.f})}).tensor();
  y.backward();
  EXPECT_EQ(module.find_tensor("w")->grad().item<float>(), 3.f);
  const at::Tensor z = Interpreter(module, RunMode::Inference).run({at::tensor({3.f})}).tensor();
  EXPECT_FALSE(z.requires_grad());
  EXPECT_TRUE(z.is_inference());
}

TEST(Interpreter, PeakMemoryIsTheLiveSet) {
  constexpr int64_t kElements = 1 << 20;
  constexpr size_t kBytes = kElements * sizeof(float);
  std::string text = "%n0 = input()\n";
  for (int i = 1; i <= 50; ++i) text += c10::str("%n", i, " = torch.neg(%n", i - 1, ")\n");
  text += "return %n50";
  GraphModule module = model(text.c_str());
  CountingAllocator allocator;
  {
    Interpreter interpreter(module, RunMode::Inference);
    at::Tensor input = at::ones({kElements});
    allocator.start();
    std::vector<Value> inputs(1, std::move(input));
    const Value result = interpreter.run(std::move(inputs));
    EXPECT_EQ(result.tensor()[0].item<float>(), 1.f);
  }
  // Input and output of the node that runs; item() above adds a few bytes.
  EXPECT_GE(allocator.peak(), 2 * kBytes);
  EXPECT_LT(allocator.peak(), 2 * kBytes + 1000);
}

TEST(Interpreter, ValuesLiveUntilTheirLastUse) {
  GraphModule module = model(R"(
      %x = input()
      %a = torch.neg(%x)
      %b = torch.abs(%a)
      %c = torch.exp(%b)
      %d = torch.add(%a, %c)
      return %d)");
  std::map<std::string, c10::weak_intrusive_ptr<c10::TensorImpl>> made;
  std::vector<std::string> alive_at_d;
  Interpreter interpreter(module, RunMode::Inference);
  interpreter.add_hook({.before =
                            [&](const Node& node, NodeCall&) {
                              if (node.name() != "d") return;
                              for (auto& [name, tensor] : made) {
                                if (!tensor.expired()) alive_at_d.push_back(name);
                              }
                            },
                        .after =
                            [&](const Node& node, Value& value) {
                              made.emplace(node.name(), value.get<at::Tensor>().getIntrusivePtr());
                            }});
  std::vector<Value> inputs(1, at::ones({4}));  // an initializer list would keep its element alive
  interpreter.run(std::move(inputs));
  EXPECT_THAT(alive_at_d, ElementsAre("a", "c"));
}

TEST(Interpreter, HooksSeeAndReplaceValues) {
  GraphModule module = model("%x = input()\n%a = torch.neg(%x)\n%b = torch.neg(%a)\nreturn %b");
  Interpreter interpreter(module);
  std::vector<std::string> order;
  interpreter.add_hook(
      {.before =
           [&](const Node& node, NodeCall& call) {
             order.push_back("before " + node.name());
             if (node.name() == "b") call.args[0] = at::tensor({10.f});
           },
       .after = [&](const Node& node, Value&) { order.push_back("after " + node.name()); }});
  interpreter.add_hook({.before = {}, .after = [&](const Node& node, Value& value) {
                          if (node.name() == "b") value = value.tensor() * 2;
                        }});
  EXPECT_EQ(interpreter.run({at::tensor({1.f})}).tensor().item<float>(), -20.f);
  EXPECT_THAT(order, ElementsAre("before x", "after x", "before a", "after a", "before b",
                                 "after b", "before output", "after output"));
}

TEST(Interpreter, ErrorsNameNodeTargetAndShapes) {
  GraphModule module = model("%x = input()\n%fc = self.head(%x)\nreturn %fc");
  module.add_module("head", nn::Linear(4, 2));
  Interpreter interpreter(module);
  EXPECT_THAT(
      [&] { interpreter.run({at::ones({1, 3})}); },
      ThrowsMessage<Error>(AllOf(
          HasSubstr("mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)"),
          HasSubstr("in operator 'linear' with input=Tensor[1, 3] float32, weight=Tensor[2, 4] "
                    "float32, bias=Tensor[2] float32"),
          HasSubstr("at node 'fc': call_module[target=head](Tensor[1, 3] float32)"))));
}

TEST(Interpreter, UnknownOperatorsAreErrorsOnlyWhenTheyRun) {
  GraphModule module = model("%x = input()\n%y = com.acme.magic(%x)\nreturn %y");
  EXPECT_THAT([&] { Interpreter(module).run({1}); },
              ThrowsMessage<Error>("unknown operator 'com.acme.magic': it cannot be executed\n"
                                   "  at node 'y': call_function[target=com.acme.magic](int 1)"));
}

TEST(Interpreter, NumberOfInputsIsChecked) {
  GraphModule module = model("%x = input()\nreturn %x");
  EXPECT_THAT([&] { Interpreter(module).run({1, 2}); },
              ThrowsMessage<Error>("the graph has 1 inputs, got 2"));
  EXPECT_THAT([&] { Interpreter(module).run({}); },
              ThrowsMessage<Error>(HasSubstr("the input 'x' is missing")));
}

TEST(RecordShapes, TheEnvironmentSetsItsWorkLimit) {
  GraphModule module = model("%x = input()\n%y = torch.neg(%x)\nreturn %y");
  const auto record = [&] { record_shapes(module, {at::ones({100})}); };
  EXPECT_NO_THROW(record());
  ::setenv("SPARSEBIT_MAX_WORK", "10", 1);
  EXPECT_THAT(record, ThrowsMessage<Error>(
                          HasSubstr("the limit of 10 are left; SPARSEBIT_MAX_WORK raises it")));
  ::setenv("SPARSEBIT_MAX_WORK", "much", 1);
  EXPECT_THAT(record, ThrowsMessage<Error>(HasSubstr("such as 1e14, found 'much'")));
  ::unsetenv("SPARSEBIT_MAX_WORK");
}

TEST(Interpreter, SeesEditsBetweenRuns) {
  GraphModule module = model("%x = input()\n%y = torch.neg(%x)\nreturn %y");
  Interpreter interpreter(module);
  EXPECT_EQ(interpreter.run({at::tensor({1.f})}).tensor().item<float>(), -1.f);
  Node& y = *module.graph().find("y");
  const auto point = module.graph().inserting_after(y);
  Node& z = module.graph().call_function("torch.mul", {y, 3});
  y.replace_all_uses_with(z);
  EXPECT_EQ(interpreter.run({at::tensor({1.f})}).tensor().item<float>(), -3.f);
}

}  // namespace
}  // namespace sparsebit::fx::interpreter_test
