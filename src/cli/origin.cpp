#include "cli/origin.h"

#include "cli/easy_names.h"
#include "easy/file_kind.h"

#include "sparsebit/export/quantized_file.h"
#include "sparsebit/io/onnx_file.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace sparsebit::cli {
namespace {

/// The origin as JSON; empty if the file has none.
std::string text_of(const std::string& model) {
  if (!std::filesystem::is_regular_file(model)) return "";
  if (exports::is_quantized_file(model)) return exports::origin_of_quantized(model);
  if (file_kind(model).format != ModelFormat::Onnx) return "";
  const onnx::ModelProto proto = io::load_onnx(model);
  for (const onnx::StringStringEntryProto& entry : proto.metadata_props()) {
    if (entry.key() == "sparsebit.origin") return entry.value();
  }
  return "";
}

}  // namespace

Origin origin_of_model(const std::string& model) {
  Origin origin;
  const auto json = nlohmann::json::parse(text_of(model), nullptr, false);
  const auto text_at = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  origin.config = text_at("config");
  if (const std::string text = text_at("preprocess"); !text.empty())
    origin.preprocess = io::read_preprocess(parse_yaml(text, model));
  return origin;
}

}  // namespace sparsebit::cli
