#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// Whether the bytes can be the beginning of an ONNX file. Cheap; parse_onnx() decides.
bool looks_like_onnx(std::string_view bytes);

/// Parses a file as it is: external data is not read, see ExternalData. Throws Io when the file
/// cannot be read and InvalidModel, naming it, when it is not ONNX.
onnx::ModelProto load_onnx(const std::filesystem::path& path);
/// @param where  what errors call the bytes: a file name.
onnx::ModelProto parse_onnx(std::string_view bytes, const std::string& where);

/// Files beside a model that hold its weights, as the model names them; each once, sorted. Counts
/// whatever holds tensors: attributes, subgraphs and functions too.
std::vector<std::string> external_files(const onnx::ModelProto& model);

/// A model's file, then those beside it that hold its weights. A file that is not ONNX has none.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& model);
/// What all of them take together.
uintmax_t bytes_of_model(const std::filesystem::path& model);

/// Whether operators of this domain are ONNX's own; it has two names.
bool is_default_domain(const std::string& domain);

/// Above this size, in bytes, weights go to a second file: a protobuf message ends at 2 GB.
inline constexpr int64_t kLargestOnnxFile = int64_t{2} << 30;

struct OnnxSaveOptions {
  int64_t largest_file = kLargestOnnxFile;
};

/// Writes a model, all or nothing. When it is larger than allowed, the initializers of its main
/// graph go to `<path>.data` beside it, each at a multiple of 64 bytes. Equal models give equal
/// bytes. Takes the model because its weights are moved, not copied.
void save_onnx(onnx::ModelProto model, const std::filesystem::path& path,
               const OnnxSaveOptions& options = {});

}  // namespace sparsebit::io
