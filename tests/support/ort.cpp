#include "support/ort.h"

#include "sparsebit/core/error.h"

namespace sparsebit::test {

std::vector<OrtResult> run_onnxruntime(const std::vector<OrtCase>& cases) {
  exports::OnnxRuntime runtime;
  std::vector<OrtResult> results;
  for (const OrtCase& c : cases) {
    OrtResult result;
    try {
      const exports::OrtSession session = runtime.load(
          c.model, {.optimize = c.optimize, .threads = c.threads, .optimized = c.optimized});
      result.names = session.outputs;
      result.outputs = runtime.run(session, c.inputs);
      runtime.unload(session);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::Io || e.kind() == ErrorKind::TooLarge)
        throw;  // a failure of ONNX Runtime, not of the model
      result.error = e.what();
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace sparsebit::test
