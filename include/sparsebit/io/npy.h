#pragma once

#include "sparsebit/core/named_tensors.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace sparsebit::io {

/// Reads one array in NumPy's .npy format, versions 1.0 to 3.0: either byte order, C or Fortran
/// element order. The tensor is contiguous and owns its memory.
///
/// The file is not trusted: its header is checked against the file size before memory is allocated.
/// Throws Io if the file cannot be read, InvalidModel if it is not well formed, Unsupported for
/// element types libtorch does not have (unsigned ones wider than a byte, text, objects, records).
at::Tensor load_npy(const std::filesystem::path& path);
/// @param where  name of the bytes in errors: a file name.
at::Tensor parse_npy(std::string_view bytes, const std::string& where);

/// Reads the arrays of an .npz file, which numpy.savez and savez_compressed write. Throws as
/// load_npy() does, and InvalidArgument when it is not a zip archive.
NamedTensors load_npz(const std::filesystem::path& path);

/// Writes a tensor of any device and strides as numpy.save does: format 1.0, little endian, C
/// order. The same values give the same bytes, and the file appears complete or not at all.
///
/// Throws Unsupported for types NumPy does not have (bfloat16, quantized, sparse), InvalidArgument
/// for an undefined tensor, Io if the file cannot be written.
void save_npy(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace sparsebit::io
