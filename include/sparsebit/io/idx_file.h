#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace sparsebit::io {

/// An array in the format of MNIST (`t10k-images-idx3-ubyte`), plain or compressed with gzip:
/// uint8 images [count, height, width] or labels [count]. Throws Io when the file cannot be read
/// and InvalidArgument, naming it, when it is not an idx file or truncated.
at::Tensor load_idx(const std::filesystem::path& path);

}  // namespace sparsebit::io
