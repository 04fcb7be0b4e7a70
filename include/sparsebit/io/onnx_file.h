#pragma once

#include "sparsebit/io/onnx_proto.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// Whether the bytes look like the beginning of an ONNX file. A cheap test; parse_onnx() decides.
bool looks_like_onnx(std::string_view bytes);

/// Parses a file without reading external data, see ExternalData. Throws Io when the file
/// cannot be read and InvalidModel, naming it, when it is not ONNX.
onnx::ModelProto load_onnx(const std::filesystem::path& path);
/// @param where  name of the bytes in errors: a file name.
onnx::ModelProto parse_onnx(std::string_view bytes, const std::string& where);

/// The external data files that the model references, each once, sorted. Includes references from
/// attributes, subgraphs and functions.
std::vector<std::string> external_files(const onnx::ModelProto& model);

/// The model's file and its external data files. Only the file itself if it is not ONNX.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& model);
/// The total size of model_files().
uintmax_t bytes_of_model(const std::filesystem::path& model);

/// Whether this is the default domain of ONNX operators, "" or "ai.onnx".
bool is_default_domain(const std::string& domain);

/// Models larger than this, in bytes, are saved with external data: the protobuf limit of 2 GB.
inline constexpr int64_t kLargestOnnxFile = int64_t{2} << 30;

struct OnnxSaveOptions {
  int64_t largest_file = kLargestOnnxFile;
};

/// Writes a model, all or nothing (see OutputSet for a process that is killed meanwhile). When it
/// is larger than allowed, the initializers of its main graph are written to `<path>.data`, aligned
/// to 64 bytes. Equal models give equal bytes. The model is passed by value because its weights are
/// moved, not copied.
void save_onnx(onnx::ModelProto model, const std::filesystem::path& path,
               const OnnxSaveOptions& options = {});

}  // namespace sparsebit::io
