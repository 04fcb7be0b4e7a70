#pragma once

#include <filesystem>

namespace sparsebit::cli::test {

/// y = x + bias, z = ids: `x` float32[batch, 3], `ids` int64[batch], `y` and `sum/out` results.
void save_onnx_model(const std::filesystem::path& path);

/// y = Foo(x) of a domain nobody knows, x float32[2].
void save_custom_model(const std::filesystem::path& path);

/// TorchScript: forward(x) = relu(x) + 1.
void save_torchscript_model(const std::filesystem::path& path);

}  // namespace sparsebit::cli::test
