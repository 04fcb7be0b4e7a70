// Time to import a model compared with the time to parse its file; see bench/README.md.

#include "sparsebit/export/onnx.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/zoo/zoo.h"

#include <benchmark/benchmark.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>

namespace sparsebit {
namespace {

/// ResNet-50 as a file of 98 MB, written once.
const std::filesystem::path& resnet50() {
  static const std::filesystem::path path = [] {
    const auto file = std::filesystem::temp_directory_path() / "sparsebit-bench-resnet50.onnx";
    zoo::Example example = zoo::make("resnet50", 0);
    example.model->eval();
    fx::Tracer tracer;
    exports::export_onnx(*tracer.trace(*example.model), file, {.inputs = example.inputs});
    return file;
  }();
  return path;
}

void bm_parse_alone(benchmark::State& state) {
  resnet50();
  for (auto _ : state) {
    std::ifstream file(resnet50(), std::ios::binary);
    onnx::ModelProto model;
    if (!model.ParseFromIstream(&file)) state.SkipWithError("cannot parse");
    benchmark::DoNotOptimize(model);
  }
}
BENCHMARK(bm_parse_alone)->Unit(benchmark::kMillisecond)->MinTime(3);

void bm_import(benchmark::State& state) {
  resnet50();
  for (auto _ : state) benchmark::DoNotOptimize(frontends::import_onnx(resnet50()));
}
BENCHMARK(bm_import)->Unit(benchmark::kMillisecond)->MinTime(3);

}  // namespace
}  // namespace sparsebit

BENCHMARK_MAIN();
