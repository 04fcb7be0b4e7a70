// Exported files, imported and exported again.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::round_trip_test {
namespace {

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesTheSameResults) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const zoo::Example example = zoo::make(GetParam());
  const auto module = fx::Tracer().trace(*example.model);
  const Tensors expected = run_reference(*module, example.inputs);
  const Tensors inputs = {example.inputs.at(0).tensor()};
  const std::string input = module->graph().placeholders()[0]->target();
  for (const auto& [first, second] : {std::pair{11, 21}, std::pair{17, 13}}) {
    const auto path = dir / "model.onnx";
    export_onnx(
        *module, path,
        {.opset = first, .inputs = example.inputs, .dynamic_axes = {{input, {{0, "batch"}}}}});
    const auto imported = frontends::import_onnx(path);
    const Tensors again = run_reference(*imported, {inputs[0]});
    ASSERT_EQ(again.size(), expected.size());
    for (size_t i = 0; i < again.size(); ++i)
      EXPECT_TRUE(at::allclose(again[i], expected[i], 1e-4, 1e-4)) << "result " << i;
    queue.add(c10::str(GetParam(), " from opset ", first, " to ", second),
              to_onnx(*imported, {.opset = second}), inputs, expected);
  }
  EXPECT_EQ(queue.run(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Zoo, RoundTrip,
                         testing::Values("resnet20", "mobilenet_v2", "yolo", "deit_tiny"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sparsebit::exports::test::round_trip_test
