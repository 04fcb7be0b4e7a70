#pragma once

#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <memory>
#include <string>

namespace sparsebit::exports {

/// Writes a calibrated model into one file: a safetensors file whose tensors are the weights and
/// the quantizers' numbers, and whose metadata says how they belong together. The same model gives
/// the same bytes, and the file appears complete or not at all.
/// @param origin  where it comes from, as JSON, for people and tools: config, seed, samples.
void save_quantized(const quant::QuantModel& model, const std::filesystem::path& file,
                    const std::string& origin = "{}");

/// Reads what save_quantized() wrote. Throws Io when the file cannot be read and InvalidModel,
/// naming it, when it is something else.
std::unique_ptr<quant::QuantModel> load_quantized(const std::filesystem::path& file);

/// The origin that was written with it. Throws as load_quantized().
std::string origin_of_quantized(const std::filesystem::path& file);

/// Whether a file is one, as far as its header tells.
bool is_quantized_file(const std::filesystem::path& file);

}  // namespace sparsebit::exports
