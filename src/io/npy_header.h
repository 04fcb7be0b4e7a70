#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::io {

/// The header of a .npy file.
struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool big_endian = false;
  bool fortran_order = false;  ///< the first index runs fastest
  std::vector<int64_t> shape = {};
  size_t data_begin = 0;  ///< offset of the data in the file
};

/// Reads and checks the header of a file with these bytes; the data after it must have exactly the
/// size of the shape. Throws InvalidModel or Unsupported naming `where`.
NpyHeader read_npy_header(std::string_view bytes, const std::string& where);

/// The header of a little-endian array in C order; nullopt when NumPy does not have the type.
std::optional<std::string> write_npy_header(at::ScalarType dtype, at::IntArrayRef shape);

}  // namespace sparsebit::io
