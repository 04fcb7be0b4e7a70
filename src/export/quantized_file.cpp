#include "sparsebit/export/quantized_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/io/safetensors.h"
#include "sparsebit/quant/saved_model.h"

namespace sparsebit::exports {
namespace {

constexpr const char* kKey = "sparsebit.quantized";
constexpr const char* kOrigin =
    "sparsebit.quantized.origin";  // sorts after kKey, which must come first

const std::string& metadata_of(const io::SafetensorsFile& content, const char* key,
                               const std::filesystem::path& file) {
  const auto it = content.metadata.find(key);
  SPARSEBIT_CHECK(it != content.metadata.end(), InvalidModel, file.string(),
                  ": a safetensors file, but not a quantized model of sparsebit");
  return it->second;
}

}  // namespace

void save_quantized(const quant::QuantModel& model, const std::filesystem::path& file,
                    const std::string& origin) {
  const quant::SavedModel saved = quant::save_model(model);
  io::save_safetensors(file, saved.tensors, {{kKey, saved.description}, {kOrigin, origin}});
}

std::string origin_of_quantized(const std::filesystem::path& file) {
  return metadata_of(io::load_safetensors(file), kOrigin, file);
}

std::unique_ptr<quant::QuantModel> load_quantized(const std::filesystem::path& file) {
  const io::SafetensorsFile content = io::load_safetensors(file);
  const std::string& description = metadata_of(content, kKey, file);
  return with_context([&] { return quant::restore_model({content.tensors, description}); },
                      [&] { return "in " + file.string(); });
}

bool is_quantized_file(const std::filesystem::path& file) {
  constexpr size_t kStart = 64;  // header length, then {"__metadata__":{"sparsebit.quan...
  const MappedFile mapped(file);
  return mapped.bytes().substr(0, kStart).find(kKey) != std::string_view::npos;
}

}  // namespace sparsebit::exports
