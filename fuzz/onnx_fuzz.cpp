#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/onnx_file.h"

#include <cstdlib>
#include <fstream>

namespace {

/// A folder with `weights.bin` for the external data of the models.
std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "onnx_fuzz_XXXXXX").string();
  if (!::mkdtemp(name.data())) std::abort();
  std::ofstream(name + "/weights.bin") << std::string(4096, '\x3F');
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path folder = make_folder();
  sparsebit::set_log_level(sparsebit::LogLevel::Off);
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    sparsebit::frontends::import_onnx(sparsebit::io::parse_onnx(bytes, "input"),
                                      {.name = "input", .folder = folder});
  } catch (const sparsebit::Error&) {  // expected for invalid input; anything else is a finding
  }
  return 0;
}
