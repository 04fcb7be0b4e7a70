#pragma once

#include "sparsebit/nn/module.h"

#include <concepts>

namespace sparsebit::nn {

/// A layer of torch.nn with the constructor arguments torch documents (except device and dtype:
/// call to() on the model), options by name:
///
///     nn::Conv2d(3, 64, 7, {{"stride", 2}, {"padding", 3}, {"bias", false}})
///
/// This works for every type of the operator table (see docs/reference/operators.md); types without
/// a function below: nn::layer("torch.nn.Fold", {...}). Wrong names and types are errors that list
/// the constructor's signature.
ModulePtr layer(std::string_view type, std::vector<Value> args, Kwargs options = {});

/// Initializes all parameters in `module` again from a seed, with torch's default initialization.
/// Each module draws from its own random stream, which depends on its path, not on the order.
void reset_parameters(Module& module, uint64_t seed);

// Convolution
ModulePtr Conv1d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options = {});
ModulePtr Conv2d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options = {});
ModulePtr Conv3d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options = {});
ModulePtr ConvTranspose1d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options = {});
ModulePtr ConvTranspose2d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options = {});
ModulePtr ConvTranspose3d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options = {});

// Linear and lookup
ModulePtr Linear(int64_t in_features, int64_t out_features, Kwargs options = {});
ModulePtr Embedding(int64_t num_embeddings, int64_t embedding_dim, Kwargs options = {});

// Normalization
ModulePtr BatchNorm1d(int64_t num_features, Kwargs options = {});
ModulePtr BatchNorm2d(int64_t num_features, Kwargs options = {});
ModulePtr BatchNorm3d(int64_t num_features, Kwargs options = {});
ModulePtr LayerNorm(Value normalized_shape, Kwargs options = {});
ModulePtr GroupNorm(int64_t num_groups, int64_t num_channels, Kwargs options = {});
ModulePtr InstanceNorm2d(int64_t num_features, Kwargs options = {});

// Activation
ModulePtr ReLU(Kwargs options = {});
ModulePtr ReLU6(Kwargs options = {});
ModulePtr LeakyReLU(Kwargs options = {});
ModulePtr PReLU(Kwargs options = {});
ModulePtr ELU(Kwargs options = {});
ModulePtr SiLU(Kwargs options = {});
ModulePtr GELU(Kwargs options = {});
ModulePtr Mish(Kwargs options = {});
ModulePtr Sigmoid();
ModulePtr Tanh();
ModulePtr Hardswish(Kwargs options = {});
ModulePtr Hardsigmoid(Kwargs options = {});
ModulePtr Softmax(int64_t dim);

// Pooling
ModulePtr MaxPool2d(Value kernel_size, Kwargs options = {});
ModulePtr AvgPool2d(Value kernel_size, Kwargs options = {});
ModulePtr AdaptiveAvgPool2d(Value output_size);
ModulePtr AdaptiveMaxPool2d(Value output_size, Kwargs options = {});

// Shape, regularization, resizing
ModulePtr Identity();
ModulePtr Flatten(Kwargs options = {});
ModulePtr Dropout(double p = 0.5, Kwargs options = {});
ModulePtr Upsample(Kwargs options);
ModulePtr PixelShuffle(int64_t upscale_factor);

// Attention and recurrence
ModulePtr MultiheadAttention(int64_t embed_dim, int64_t num_heads, Kwargs options = {});
ModulePtr LSTM(int64_t input_size, int64_t hidden_size, Kwargs options = {});
ModulePtr GRU(int64_t input_size, int64_t hidden_size, Kwargs options = {});

}  // namespace sparsebit::nn
