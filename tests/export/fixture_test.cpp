// Small models of torchvision, written by torch as ONNX; see scripts/make_onnx_fixtures.py.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::fixture_test {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  std::string name;
  at::Tensor input;
  Tensors expected;
};

Fixture load(const std::string& name) {
  const fs::path folder = SPARSEBIT_FIXTURES;
  Fixture fixture{name, io::load_npy(folder / (name + ".input.npy")), {}};
  for (int i = 0; fs::exists(folder / c10::str(name, ".expected", i, ".npy")); ++i)
    fixture.expected.push_back(io::load_npy(folder / c10::str(name, ".expected", i, ".npy")));
  return fixture;
}

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

class TorchvisionFixture : public testing::TestWithParam<const char*> {};

TEST_P(TorchvisionFixture, GivesTorchsResultsHereAndInOnnxRuntime) {
  const Fixture fixture = load(GetParam());
  ASSERT_FALSE(fixture.expected.empty());
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const int64_t opset : {11, 13, 17}) {
    SCOPED_TRACE(opset);
    const auto module = frontends::import_onnx(fs::path(SPARSEBIT_FIXTURES) /
                                               c10::str(fixture.name, ".opset", opset, ".onnx"));
    const Tensors results = run_reference(*module, {fixture.input});
    ASSERT_EQ(results.size(), fixture.expected.size());
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_LE(relative_difference(results[i], fixture.expected[i]), 1e-5) << "result " << i;
    for (const int64_t target : {11, 13, 21}) {
      queue.add(c10::str("from opset ", opset, " to ", target), to_onnx(*module, {.opset = target}),
                {fixture.input}, fixture.expected);
    }
  }
  EXPECT_EQ(queue.run(), 9U);
}

INSTANTIATE_TEST_SUITE_P(Export, TorchvisionFixture,
                         testing::Values("residual", "mobilenet_v3", "efficientnet", "densenet",
                                         "frozen", "shufflenet", "convnext", "swin", "vit",
                                         "pyramid", "bert"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sparsebit::exports::test::fixture_test
