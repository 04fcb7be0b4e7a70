#include "fuzz/input_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/frontends/torchscript.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sparsebit::fuzz::InputFile file(data, size);
  sparsebit::set_log_level(sparsebit::LogLevel::Off);
  try {
    sparsebit::frontends::import_torchscript(file.path());
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
