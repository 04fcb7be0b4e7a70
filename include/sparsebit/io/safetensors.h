#pragma once

#include "sparsebit/core/named_tensors.h"

#include <filesystem>
#include <map>
#include <string>

namespace sparsebit::io {

using sparsebit::NamedTensors;

/// The contents of a safetensors file.
struct SafetensorsFile {
  NamedTensors tensors;                         ///< in the order of the file, on the CPU
  std::map<std::string, std::string> metadata;  ///< the "__metadata__" entry
};

/// Writes tensors in the safetensors format: an 8-byte header length, a JSON header, and the raw
/// little-endian data. The same input gives the same bytes, and the file appears complete or not at
/// all.
///
/// Takes tensors of any device and strides, of types F64, F32, F16, BF16, I64, I32, I16, I8, U8 and
/// BOOL. Tensors that share storage are written once each. Throws Unsupported for other types and
/// for sparse tensors, InvalidArgument for undefined tensors and for names that the format cannot
/// hold, Io if the file cannot be written.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Reads a safetensors file. The file is not trusted: its header is checked completely before any
/// tensor is created, and memory use is bounded by the size of the file.
///
/// Throws Io if the file cannot be read, InvalidModel if it is not well formed.
SafetensorsFile load_safetensors(const std::filesystem::path& path);

}  // namespace sparsebit::io
