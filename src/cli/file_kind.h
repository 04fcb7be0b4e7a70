#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit::cli {

enum class ModelFormat { None, Onnx, TorchScript, Pt2 };

/// What a file is, judged by its content, never by its name.
struct FileKind {
  ModelFormat format = ModelFormat::None;
  std::string description = {};  ///< "a safetensors file, which has weights but no graph"
};

/// Whether it names a file that is ONNX; models of the zoo are none.
bool is_onnx_file(const std::string& model);

/// Throws Io if the file is missing, a folder, or not readable.
FileKind file_kind(const std::filesystem::path& path);
/// @param start  the first bytes, a few hundred or all.
FileKind kind_of_bytes(std::string_view start);

}  // namespace sparsebit::cli
