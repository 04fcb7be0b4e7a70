#include "deploy/formats/tensorrt_cache.h"

#include "deploy/format_limits.h"
#include "deploy/text_lines.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <bit>
#include <charconv>
#include <iomanip>
#include <sstream>

namespace sparsebit::deploy {
namespace {

constexpr const char* kHeader = "TRT-8600-EntropyCalibration2";

}  // namespace

std::vector<DeployFile> write_tensorrt_cache(const DeployModel& model) {
  std::ostringstream out;
  out << kHeader << '\n' << std::hex << std::setfill('0');
  for (const TensorRange& range :
       ranges_within(model, {.format = "tensorrt_cache", .weights = false})) {
    const auto bits = std::bit_cast<uint32_t>(range.scale.item<float>());
    out << range.tensor << ": " << std::setw(8) << bits << '\n';
  }
  return {{model.name() + "_calibration.cache", out.str()}};
}

TensorRtCache read_tensorrt_cache(const std::string& content) {
  std::vector<Words> lines = words_of_lines(content);
  SPARSEBIT_CHECK(!lines.empty() && lines.front().front().starts_with("TRT-"), InvalidModel,
                  "tensorrt_cache: expected a first line that starts with 'TRT-'");
  TensorRtCache cache{lines.front().front(), {}};
  lines.erase(lines.begin());
  for (const Words& words : lines) {
    SPARSEBIT_CHECK(words.size() == 2 && words[0].ends_with(":"), InvalidModel,
                    "tensorrt_cache: expected 'tensor: bits', found '", words[0], "'");
    uint32_t bits = 0;
    const std::string& text = words[1];
    const auto end = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    SPARSEBIT_CHECK(end.ptr == text.data() + text.size(), InvalidModel, "tensorrt_cache: '", text,
                    "' is not a hexadecimal number");
    cache.scales[words[0].substr(0, words[0].size() - 1)] = std::bit_cast<float>(bits);
  }
  return cache;
}

}  // namespace sparsebit::deploy
