// Files that we wrote, read and written again.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test {
namespace {

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesTheSameResults) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const zoo::Example example = zoo::make(GetParam());
  const auto module = fx::Tracer().trace(*example.model);
  const Tensors expected = run_reference(*module, example.inputs);
  const Tensors inputs = {example.inputs.at(0).tensor()};
  for (const int64_t opset : {11, 13, 17}) {
    const auto path = dir / "model.onnx";
    export_onnx(
        *module, path,
        {.opset = opset, .inputs = example.inputs, .dynamic_axes = {{"x", {{0, "batch"}}}}});
    const auto imported = frontends::import_onnx(path);
    const Tensors again = run_reference(*imported, {inputs[0]});
    ASSERT_EQ(again.size(), expected.size());
    for (size_t i = 0; i < again.size(); ++i)
      EXPECT_TRUE(at::allclose(again[i], expected[i], 1e-4, 1e-4)) << "result " << i;
    for (const int64_t other : {11, 13, 17, 21}) {
      queue.add(c10::str(GetParam(), " from opset ", opset, " to ", other),
                to_onnx(*imported, {.opset = other}), inputs, expected);
    }
  }
  queue.run();
}

INSTANTIATE_TEST_SUITE_P(Zoo, RoundTrip,
                         testing::Values("resnet20", "mobilenet_v2", "yolo", "deit_tiny"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sparsebit::exports::test
