#include "sparsebit/core/error.h"
#include "sparsebit/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    sparsebit::io::parse_npy({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
