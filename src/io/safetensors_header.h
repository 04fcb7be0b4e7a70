#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// Longer headers are rejected, as in the reference implementation.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// A tensor's entry in the header. Its data is bytes [begin, end) after the header.
struct TensorEntry {
  std::string name = {};
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape = {};
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// The JSON part of a safetensors file.
struct SafetensorsHeader {
  std::vector<TensorEntry> tensors = {};  ///< in the order of the JSON text
  std::map<std::string, std::string> metadata = {};
};

/// The name of `dtype` in the format ("F32"), if it has one.
std::optional<std::string_view> dtype_name(at::ScalarType dtype);

/// The JSON text, padded with spaces to a multiple of 8 bytes. Throws InvalidArgument if a name or
/// a metadata text is not valid UTF-8, or if a tensor is called "__metadata__".
std::string write_header(const SafetensorsHeader& header);

/// Parses and checks the JSON text: every tensor well formed, and the data of all tensors together
/// exactly `data_bytes` bytes without gaps and overlaps. Throws InvalidModel naming `path`.
SafetensorsHeader read_header(std::string_view text, uint64_t data_bytes,
                              const std::filesystem::path& path);

}  // namespace sparsebit::io
