#include "sparsebit/core/error.h"
#include "sparsebit/quant/config/qconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto config = sparsebit::quant::parse_qconfig(sparsebit::parse_yaml(text, "input"));
    config.of_layer(sparsebit::quant::Target::Weight, {.path = "layer1.0.conv1", .name = "conv1"});
    config.of_layer(sparsebit::quant::Target::Activation, {.path = "fc", .name = "fc"});
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
