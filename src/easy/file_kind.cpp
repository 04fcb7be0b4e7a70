#include "easy/file_kind.h"

#include "sparsebit/core/mapped_file.h"
#include "sparsebit/frontends/pt2.h"
#include "sparsebit/frontends/torchscript.h"
#include "sparsebit/io/onnx_file.h"

#include <algorithm>

namespace sparsebit::easy {
namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* description;
};

/// Files that are not models but are often mistaken for one.
constexpr Magic kMagics[] = {
    {0, "\x93NUMPY", "a NumPy array"},
    {8, "{\"", "a safetensors file, which has weights but no graph"},
    {0, "\x80\x02", "a Python pickle, as an old torch.save writes it; use torch.jit.save"},
    {0, "\x80\x03", "a Python pickle"},
    {0, "\x80\x04", "a Python pickle"},
    {0, "\x80\x05", "a Python pickle"},
    {0, "version https://git-lfs", "a Git LFS pointer, not the file itself; run 'git lfs pull'"},
    {0, "<!DOCTYPE", "a web page"},
    {0, "<!doctype", "a web page"},
    {0, "<html", "a web page"},
    {4, "TFL3", "a TensorFlow Lite model"},
    {0, "\x89HDF\r\n", "an HDF5 file, as Keras writes it"},
    {0, "\x1f\x8b", "a gzip file; unpack it first"},
    {0, "BZh", "a bzip2 file; unpack it first"},
    {0, "\x37\x7a\xbc\xaf", "a 7z archive; unpack it first"},
    {0, "GGUF", "a GGUF file"},
    {0, "PK\x05\x06", "an empty zip archive"},
    {0,
     "\x7f"
     "ELF",
     "an executable file"},
};

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

FileKind kind_of_bytes(std::string_view start) {
  if (start.empty()) return {ModelFormat::None, "the file is empty"};
  if (start.find("\"sparsebit.quantized\"") != std::string_view::npos)
    return {ModelFormat::None,
            "a simulation file of 'sparsebit quantize', for 'sparsebit eval' and 'deploy'"};
  if (frontends::looks_like_torchscript(start)) return {ModelFormat::TorchScript, "TorchScript"};
  for (const Magic& magic : kMagics) {
    if (start.size() > magic.offset && start.substr(magic.offset).starts_with(magic.bytes)) {
      return {ModelFormat::None, magic.description};
    }
  }
  if (io::looks_like_onnx(start)) return {ModelFormat::Onnx, "ONNX"};
  return {ModelFormat::None, is_text(start) ? "a text file" : "unknown file format"};
}

bool is_onnx_file(const std::string& model) {
  return std::filesystem::is_regular_file(model) && file_kind(model).format == ModelFormat::Onnx;
}

FileKind file_kind(const std::filesystem::path& path) {
  constexpr size_t kEnough = 512;
  const MappedFile file(path);
  if (frontends::looks_like_pt2(file.bytes())) return {ModelFormat::Pt2, "torch.export"};
  return kind_of_bytes(file.bytes().substr(0, kEnough));
}

}  // namespace sparsebit::easy
