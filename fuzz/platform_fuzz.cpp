#include "sparsebit/core/error.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/config/qconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    sparsebit::quant::default_qconfig(sparsebit::platforms::parse_platform(text, "input"));
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
