#include "fuzz/input_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sparsebit::fuzz::InputFile file(data, size);
  try {
    const auto dataset = sparsebit::io::open_dataset(file.path());
    dataset->describe();
    if (dataset->size() > 0) dataset->get(dataset->size() - 1);
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
