#include "quant/calibration/stream.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::stream_test {
namespace {

fx::GraphModule graph() {
  return {fx::parse_graph("%x = input()\n%c = torch.ones(3)\n%y = torch.add(%x, %c)\n"
                          "%z = torch.mul(%y, %x)\nreturn %z"),
          "Test"};
}

std::vector<std::vector<int64_t>> samples_in(ValueStore& store) {
  std::vector<std::vector<int64_t>> samples;
  for (int i = 0; i < 5; ++i) samples.push_back({store.put(at::full({3}, static_cast<float>(i)))});
  return samples;
}

TEST(Stream, EachNodeRunsWithAllSamples) {
  fx::GraphModule module = graph();
  ValueStore store(20);  // bytes: nearly everything is in the file
  Stream stream(module, store, fx::make_interpreter);
  stream.start(samples_in(store));
  for (const fx::Node& node : module.graph().nodes()) {
    if (!stream.computes(node)) continue;
    stream.run_node(node);
    EXPECT_EQ(stream.is_constant(node), node.name() == "c");
    for (size_t i = 0; node.name() == "z" && i < 5; ++i) {
      const auto x = static_cast<float>(i);
      EXPECT_TRUE(at::equal(stream.value_of(node, i).tensor(), at::full({3}, (x + 1) * x)));
    }
  }
}

/// Values go when their last consumer has run; samples stay if asked.
TEST(Stream, ValuesAreDroppedAfterTheirLastUse) {
  for (const bool keep : {false, true}) {
    fx::GraphModule module = graph();
    ValueStore store(1 << 20);
    Stream stream(module, store, fx::make_interpreter);
    const auto samples = samples_in(store);
    stream.start(samples, keep);
    for (const fx::Node& node : module.graph().nodes()) {
      if (stream.computes(node)) stream.run_node(node);
      stream.drop_unused_after(node);
      if (node.name() == "y") {
        EXPECT_EQ(store.bytes_in_memory(), 5 * (12 + 12));
      }
    }
    EXPECT_EQ(store.bytes_in_memory(), keep ? 5 * 12 : 0);
    if (keep) {
      EXPECT_EQ(store.get(samples[4][0]).tensor()[0].item<float>(), 4);
    }
  }
}

TEST(Stream, InPlaceChangesDoNotReachKeptSamples) {
  fx::GraphModule module(fx::parse_graph("%x = input()\n%y = torch.relu_(%x)\nreturn %y"), "Test");
  ValueStore store(1 << 20);
  Stream stream(module, store, fx::make_interpreter);
  const std::vector<std::vector<int64_t>> samples = {{store.put(at::full({3}, -1.f))}};
  stream.start(samples, /*keep=*/true);
  for (const fx::Node& node : module.graph().nodes()) {
    if (stream.computes(node)) stream.run_node(node);
    if (node.name() == "y") {
      EXPECT_EQ(stream.value_of(node, 0).tensor().max().item<float>(), 0);
    }
  }
  EXPECT_EQ(store.get(samples[0][0]).tensor().max().item<float>(), -1);
}

}  // namespace
}  // namespace sparsebit::quant::stream_test
