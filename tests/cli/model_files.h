#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sparsebit::cli::test {

/// y = x + bias, z = ids: `x` float32[batch, 3], `ids` int64[batch], `y` and `sum/out` results.
void save_onnx_model(const std::filesystem::path& path, int64_t opset = 13);

/// Scores of 5 classes for uint8[1, 24, 24, 3]: cast, transposed, a convolution, pooled.
void save_byte_image_model(const std::filesystem::path& path);

/// y = Foo(x) of a domain nobody knows, x float32[2].
void save_custom_model(const std::filesystem::path& path);

/// y = Resize(x) with an attribute that nobody knows, x float32[2].
void save_odd_model(const std::filesystem::path& path);

/// A sum and an operator of a foreign domain; every name is `name`, or begins with it.
void save_model_of_names(const std::filesystem::path& path, const std::string& name);

/// y = Reshape(x, shape): x float32[6], `shape` int64[2].
void save_reshape_model(const std::filesystem::path& path);

/// TorchScript: forward(x) = relu(x) + 1.
void save_torchscript_model(const std::filesystem::path& path);

/// TorchScript: forward(x) gives a dict of `logits` and `x`.
void save_dict_model(const std::filesystem::path& path);

/// TorchScript: takes float32[n, 6] only.
void save_fixed_size_model(const std::filesystem::path& path);

/// TorchScript: relu(x) for more than one row, else sigmoid(x).
void save_size_model(const std::filesystem::path& path);

}  // namespace sparsebit::cli::test
