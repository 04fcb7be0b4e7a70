#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/onnx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    sparsebit::frontends::import_onnx(sparsebit::io::parse_onnx(bytes, "input"));
  } catch (const sparsebit::Error&) {  // what a bad file should end in; all else is a finding
  }
  return 0;
}
