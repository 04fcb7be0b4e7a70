#include "fuzz/input_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/idx_file.h"

#include <ATen/core/Tensor.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sparsebit::fuzz::InputFile file(data, size);
  try {
    sparsebit::io::load_idx(file.path());
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
