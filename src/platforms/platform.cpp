#include "sparsebit/platforms/platform.h"

#include "platforms/built_in.h"

#include "sparsebit/core/mapped_file.h"

#include <utility>

namespace sparsebit::platforms {
namespace {

/// What people write for it: abbreviations, vendors and devices.
constexpr std::pair<const char*, const char*> kUsualNames[] = {
    {"ort", "onnxruntime"}, {"onnx", "onnxruntime"},   {"onnx-runtime", "onnxruntime"},
    {"cpu", "onnxruntime"}, {"trt", "tensorrt"},       {"nvidia", "tensorrt"},
    {"gpu", "tensorrt"},    {"cuda", "tensorrt"},      {"ov", "openvino"},
    {"intel", "openvino"},  {"qualcomm", "snpe"},      {"dlc", "snpe"},
    {"vitis-ai", "vitis"},  {"vitisai", "vitis"},      {"xilinx", "vitis"},
    {"hisilicon", "nnie"},  {"tengine", "tengine_u8"}, {"ppl", "ppl_cuda"},
};

}  // namespace

Registry<PlatformPtr>& platforms() {
  static Registry<PlatformPtr> registry = [] {
    Registry<PlatformPtr> r("platform");
    for (const BuiltIn& file : built_in_platforms())
      r.add(std::string(file.name), parse_platform(file.text, std::string(file.name) + ".yaml"));
    for (const auto& [usual, name] : kUsualNames) r.suggest(usual, name);
    return r;
  }();
  return registry;
}

PlatformPtr find_platform(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  const bool is_file = path.extension() == ".yaml" || path.extension() == ".yml";
  if (is_file) return parse_platform(MappedFile(path).bytes(), name_or_file);
  return platforms().get(name_or_file);
}

}  // namespace sparsebit::platforms
