// Fusing and simplifying long networks: one sweep over the graph, however often a pattern occurs.

#include "sparsebit/core/error.h"
#include "sparsebit/passes/runner.h"

#include <benchmark/benchmark.h>

namespace sparsebit::passes {
namespace {

/// A chain of blocks of convolution, batch norm and relu, without shared layers.
std::unique_ptr<fx::GraphModule> build_model(int64_t blocks) {
  auto module = std::make_unique<fx::GraphModule>(std::make_unique<fx::Graph>(), "Bench");
  const std::vector<fx::Value> conv = {8, 8, 3}, channels = {8};
  fx::Node* last = &module->graph().placeholder("x");
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    module->set_module(block + ".conv", fx::make_module("torch.nn.Conv2d", conv));
    module->set_module(block + ".bn", fx::make_module("torch.nn.BatchNorm2d", channels));
    module->set_module(block + ".relu", fx::make_module("torch.nn.ReLU", {}));
    for (const char* step : {".conv", ".bn", ".relu"})
      last = &module->graph().call_module(block + step, {*last});
  }
  module->graph().output(*last);
  module->eval();
  return module;
}

void run_stages(benchmark::State& state, const std::vector<Stage>& stages) {
  for (auto _ : state) {
    state.PauseTiming();
    const auto module = build_model(state.range(0));
    state.ResumeTiming();
    const PassReport report = run_passes(*module, {.stages = stages});
    const size_t blocks = static_cast<size_t>(state.range(0));
    SPARSEBIT_CHECK(report.changes.size() == blocks, Internal, "found ", report.changes.size());
    benchmark::DoNotOptimize(report);
  }
  state.counters["per_block"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Under 3 s for 10,000 blocks, and twice that for twice as many.
void bm_fuse(benchmark::State& state) { run_stages(state, {Stage::Fuse}); }

void bm_simplify_and_fuse(benchmark::State& state) {
  run_stages(state, {Stage::Simplify, Stage::Fuse});
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t blocks : {5000, 10000, 20000}) bench->Arg(blocks);
  bench->Unit(benchmark::kMillisecond)->Iterations(1);
}

BENCHMARK(bm_fuse)->Apply(sizes);
BENCHMARK(bm_simplify_and_fuse)->Apply(sizes);

}  // namespace
}  // namespace sparsebit::passes

BENCHMARK_MAIN();
