#pragma once

#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <memory>
#include <string>

namespace sparsebit::exports {

/// Writes a calibrated model into one safetensors file: weights and quantizer parameters as
/// tensors, graph and config as metadata. The same model gives the same bytes, and the file is
/// written atomically.
/// @param origin  JSON about how the model was made (config, seed, samples), for people and tools.
void save_quantized(const quant::QuantModel& model, const std::filesystem::path& file,
                    const std::string& origin = "{}");

/// Reads a file that save_quantized() wrote. Throws Io when it cannot be read and InvalidModel,
/// naming the file, when it is not such a file.
std::unique_ptr<quant::QuantModel> load_quantized(const std::filesystem::path& file);

/// The `origin` given to save_quantized(). Throws as load_quantized().
std::string origin_of_quantized(const std::filesystem::path& file);

/// Whether the header of a file is that of a save_quantized() file; the rest is not checked.
bool is_quantized_file(const std::filesystem::path& file);

}  // namespace sparsebit::exports
