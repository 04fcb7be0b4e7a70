// Building, linting, copying and dead-node removal on large graphs. All four must be linear.

#include "sparsebit/core/error.h"
#include "sparsebit/fx/dead_code.h"
#include "sparsebit/fx/lint.h"

#include <benchmark/benchmark.h>

namespace sparsebit::fx {
namespace {

/// Residual blocks as in a convolutional network; every tenth node is dead, one input feeds all
/// blocks, and node names repeat, as they do in real graphs.
std::unique_ptr<Graph> build_graph(int64_t size) {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  Node& scale = graph->placeholder("scale");
  Node* last = &x;
  while (static_cast<int64_t>(graph->size()) < size - 1) {
    Node& a = graph->call_function("torch.mul", {*last, scale});
    Node& b = graph->call_function("torch.nn.functional.relu", {a}, {{"inplace", false}});
    Node& c = graph->call_method("view", {b, List{-1, 8}});
    Node& d = graph->call_function("torch.cat", {List{c, *last}}, {{"dim", 1}});
    Node& e = graph->call_function("operator.getitem", {d, Tuple{Slice(), 0}});
    Node& f = graph->call_function("torch.add", {e, b});
    Node& g = graph->call_method("size", {f, 0});
    Node& h = graph->call_function("operator.mul", {f, g});
    graph->call_function("torch.abs", {h});  // dead
    last = &graph->call_function("operator.add", {h, *last});
  }
  graph->output(*last);
  return graph;
}

/// For a linear algorithm, the time per node is constant, apart from effects of the processor's
/// caches.
void report_per_node(benchmark::State& state) {
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

GraphModule build_module(int64_t size) { return {build_graph(size), "Bench"}; }

void bm_build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(build_graph(state.range(0)));
  report_per_node(state);
}

void bm_lint(benchmark::State& state) {
  const auto graph = build_graph(state.range(0));
  for (auto _ : state) lint(*graph);
  report_per_node(state);
}

void bm_clone(benchmark::State& state) {
  const auto graph = build_graph(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(graph->clone());
  report_per_node(state);
}

void bm_dead_code(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    GraphModule module = build_module(state.range(0));
    state.ResumeTiming();
    const DeadCode dead = eliminate_dead_code(module);
    SPARSEBIT_CHECK(!dead.nodes.empty(), Internal, "the benchmark graph has no dead nodes");
    benchmark::DoNotOptimize(dead);
  }
  report_per_node(state);
}

/// All four in a row, as one number to watch: under 2 s for 100,000 nodes.
void bm_all_four(benchmark::State& state) {
  for (auto _ : state) {
    GraphModule module = build_module(state.range(0));
    lint(module.graph());
    const auto copy = module.graph().clone();
    benchmark::DoNotOptimize(eliminate_dead_code(module));
  }
  report_per_node(state);
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t size : {12500, 25000, 50000, 100000}) bench->Arg(size);
  bench->Unit(benchmark::kMillisecond);
}

BENCHMARK(bm_build)->Apply(sizes);
BENCHMARK(bm_lint)->Apply(sizes);
BENCHMARK(bm_clone)->Apply(sizes);
BENCHMARK(bm_dead_code)->Apply(sizes);
BENCHMARK(bm_all_four)->Apply(sizes);

}  // namespace
}  // namespace sparsebit::fx

BENCHMARK_MAIN();
