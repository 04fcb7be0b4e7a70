// Checks one model file against the results of torch:  sweep MODEL INPUT.npy FOLDER
//
// Imports the model, runs it on the input, compares with FOLDER/expected0.npy and so on, exports it
// to ONNX, and compares the results of ONNX Runtime. Prints one line of JSON: `difference` and
// `onnxruntime_difference`, or `error`. scripts/run_sweep.py makes the models and the table.

#include "easy/model_outputs.h"
#include "easy/model_source.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/npy.h"
#include "support/ort.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>

namespace sparsebit::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<at::Tensor> load_expected(const fs::path& folder) {
  std::vector<at::Tensor> expected;
  const auto file = [&] {
    return folder / ("expected" + std::to_string(expected.size()) + ".npy");
  };
  while (fs::exists(file())) expected.push_back(io::load_npy(file()));
  return expected;
}

/// The largest difference over the largest value, of the worst output.
double difference(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  SPARSEBIT_CHECK(actual.size() == expected.size(), InvalidModel, "gives ", actual.size(),
                  " outputs instead of ", expected.size());
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    SPARSEBIT_CHECK(actual[i].sizes() == expected[i].sizes(), InvalidModel, "output ", i,
                    " has shape ", actual[i].sizes(), " instead of ", expected[i].sizes());
    const at::Tensor a = actual[i].to(at::kDouble), e = expected[i].to(at::kDouble);
    const double largest = e.abs().max().item<double>();
    const double found = (a - e).abs().max().item<double>();
    SPARSEBIT_CHECK(std::isfinite(found) && largest > 0, InvalidModel, "output ", i,
                    " is not finite, or all zero");
    worst = std::max(worst, found / largest);
  }
  return worst;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double run_exported(const fx::GraphModule& module, const at::Tensor& input,
                    const std::vector<at::Tensor>& expected, const fs::path& file) {
  exports::export_onnx(module, file, {.inputs = {input}});
  const std::string name = module.graph().placeholders().front()->target();
  const OrtResult result = run_onnxruntime({{.model = file, .inputs = {{name, input}}}}).front();
  SPARSEBIT_CHECK(result.error.empty(), InvalidModel, "ONNX Runtime: ", result.error);
  return difference(result.outputs, expected);
}

json check(const std::string& model_file, const fs::path& input_file, const fs::path& folder) {
  json report = json::object();
  const at::Tensor input = io::load_npy(input_file);
  const std::vector<at::Tensor> expected = load_expected(folder);
  std::string stage = "import";
  try {
    const auto start = std::chrono::steady_clock::now();
    easy::LoadedModel model = easy::load_model(
        model_file, {.shapes = {{"", {input.sizes().vec(), input.scalar_type()}}}});
    report["import_seconds"] = seconds_since(start);
    report["nodes"] = model.module->graph().size();
    stage = "run";
    fx::Interpreter interpreter(*model.module, fx::RunMode::Inference);
    std::vector<at::Tensor> actual;
    for (const easy::ModelOutput& output :
         easy::flatten_outputs(*model.module, interpreter.run({input}))) {
      actual.push_back(output.tensor);
    }
    report["difference"] = difference(actual, expected);
    stage = "export";
    report["onnxruntime_difference"] =
        run_exported(*model.module, input, expected, folder / "exported.onnx");
  } catch (const std::exception& e) {
    std::string message = message_of(e);
    std::replace(message.begin(), message.end(), '\n', ' ');
    report["error"] = stage + ": " + message;
  }
  return report;
}

}  // namespace
}  // namespace sparsebit::test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: sweep MODEL INPUT.npy FOLDER\n";
    return 2;
  }
  try {
    std::cout << sparsebit::test::check(argv[1], argv[2], argv[3]).dump() << '\n';
  } catch (const std::exception& e) {
    std::cerr << "error: " << sparsebit::message_of(e) << '\n';
    return 1;
  }
  return 0;
}
