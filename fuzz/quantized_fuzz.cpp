#include "fuzz/input_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sparsebit::fuzz::InputFile file(data, size);
  try {
    if (sparsebit::exports::is_quantized_file(file.path()))
      sparsebit::exports::load_quantized(file.path());
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
