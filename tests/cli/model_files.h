#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sparsebit::cli::test {

/// y = x + bias, sum/out = ids + ids: inputs `x` float32[batch, 3] and `ids` int64[batch].
void save_onnx_model(const std::filesystem::path& path, int64_t opset = 13);

/// A classifier of 5 classes with input uint8[1, 24, 24, 3]: cast, transpose, convolution, pooling.
void save_byte_image_model(const std::filesystem::path& path);

/// y = Foo(x), an operator of an unknown domain, x float32[2].
void save_custom_model(const std::filesystem::path& path);

/// y = Resize(x) with an unknown attribute, x float32[2].
void save_odd_model(const std::filesystem::path& path);

/// A sum and an operator of a foreign domain; every name is `name`, or begins with it.
void save_model_of_names(const std::filesystem::path& path, const std::string& name);

/// y = Reshape(x, shape): x float32[6], `shape` int64[2].
void save_reshape_model(const std::filesystem::path& path);

/// TorchScript: forward(x) = relu(x) + 1.
void save_torchscript_model(const std::filesystem::path& path);

/// TorchScript: forward(x) returns a dict of `logits` and `x`.
void save_dict_model(const std::filesystem::path& path);

/// TorchScript: works only with float32[n, 6].
void save_fixed_size_model(const std::filesystem::path& path);

/// TorchScript: relu(x) for more than one row, else sigmoid(x).
void save_size_model(const std::filesystem::path& path);

}  // namespace sparsebit::cli::test
