// ONNX's conformance data, imported, exported again and run by ONNX Runtime.

#include "frontends/onnx/conformance.h"
#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

namespace sparsebit::exports::test::conformance_test {
namespace {

namespace fs = std::filesystem;
using sparsebit::test::ConformanceResult;

Tensors read_inputs(const fs::path& folder) {
  Tensors inputs;
  for (int i = 0;; ++i) {
    const fs::path path = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return inputs;
    onnx::TensorProto proto;
    proto.ParseFromString(read_file(path));
    io::ExternalData none;
    inputs.push_back(io::take_tensor(proto, none));
  }
}

int64_t opset_of(const onnx::ModelProto& model) {
  int64_t opset = kOldestOpset;
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty()) opset = import.version();
  }
  return std::clamp(opset, kOldestOpset, kNewestOpset);
}

/// Cases in which ONNX Runtime differs from ONNX's conformance data.
const std::set<std::string> kOnnxRuntimeDiffers = {
    "test_gru_batchwise",         // no support for layout=1
    "test_lstm_batchwise",        //
    "test_simple_rnn_batchwise",  //
    "test_maxunpool_export_with_output_shape",
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners"};

/// ONNX Runtime has no kernel for these element types on a CPU.
bool runs_in_onnxruntime(const onnx::ModelProto& model) {
  const auto plain = [](const onnx::ValueInfoProto& info) {
    return info.type().tensor_type().elem_type() != onnx::TensorProto::BFLOAT16;
  };
  return std::all_of(model.graph().input().begin(), model.graph().input().end(), plain) &&
         std::all_of(model.graph().output().begin(), model.graph().output().end(), plain);
}

TEST(ConformanceRoundTrip, ExportedModelsAgreeWithTheInterpreter) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const ConformanceResult& result : sparsebit::test::run_all_cases()) {
    if (result.outcome != ConformanceResult::Outcome::Passed) continue;
    if (kOnnxRuntimeDiffers.contains(result.name)) continue;
    const fs::path folder = sparsebit::test::conformance_folder() / result.suite / result.name;
    const Tensors inputs = read_inputs(folder);
    const auto module = frontends::import_onnx(folder / "model.onnx");
    const int64_t opset = opset_of(io::load_onnx(folder / "model.onnx"));
    try {
      const std::vector<fx::Value> values(inputs.begin(), inputs.end());
      const onnx::ModelProto model = to_onnx(*module, {.opset = opset, .inputs = values});
      if (!runs_in_onnxruntime(model)) continue;
      queue.add(result.name, model, inputs, run_reference(*module, values), 1e-3);
    } catch (const Error& e) {
      ADD_FAILURE() << result.name << ": " << e.what();
    }
  }
  const size_t count = queue.size();
  std::cout << queue.run() << " of " << count << " exported conformance cases agree\n";
  EXPECT_GE(count, 900U);
}

}  // namespace
}  // namespace sparsebit::exports::test::conformance_test
