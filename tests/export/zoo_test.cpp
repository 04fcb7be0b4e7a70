#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/fx/tracer.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::zoo_test {
namespace {

class ZooExport : public testing::TestWithParam<std::string> {};

TEST_P(ZooExport, AgreesWithOnnxRuntime) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const zoo::Example example = zoo::make(GetParam());
  const auto module = fx::Tracer().trace(*example.model);
  Tensors inputs;
  for (const nn::Value& input : example.inputs) {
    if (input.is_tensor()) inputs.push_back(input.tensor());
  }
  const Tensors expected = run_reference(*module, example.inputs);
  for (const int64_t opset : {11, 21}) {  // those between are in round_trip_test.cpp
    queue.add(c10::str(GetParam(), " at opset ", opset),
              to_onnx(*module, {.opset = opset, .inputs = example.inputs}), inputs, expected);
  }
  EXPECT_EQ(queue.run(), 2U);
}

INSTANTIATE_TEST_SUITE_P(All, ZooExport, testing::ValuesIn(zoo::architectures().names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sparsebit::exports::test::zoo_test
