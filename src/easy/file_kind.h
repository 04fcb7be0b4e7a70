#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit::easy {

enum class ModelFormat { None, Onnx, TorchScript, Pt2 };

/// The format of a file, detected from its content, not from its name.
struct FileKind {
  ModelFormat format = ModelFormat::None;
  std::string description = {};  ///< "a safetensors file, which has weights but no graph"
};

/// Whether a command line's model is an ONNX file; false for zoo models.
bool is_onnx_file(const std::string& model);

/// Throws Io if the file is missing, a folder, or not readable.
FileKind file_kind(const std::filesystem::path& path);
/// @param start  the first few hundred bytes of the file, or all.
FileKind kind_of_bytes(std::string_view start);

}  // namespace sparsebit::easy
