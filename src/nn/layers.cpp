#include "sparsebit/nn/layers.h"

#include "sparsebit/core/random.h"
#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>

namespace sparsebit::nn {

ModulePtr layer(std::string_view type, std::vector<Value> args, Kwargs options) {
  return fx::make_module(type, args, options);
}

ModulePtr Conv1d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options) {
  return layer("torch.nn.Conv1d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr Conv2d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options) {
  return layer("torch.nn.Conv2d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr Conv3d(int64_t in_channels, int64_t out_channels, Value kernel_size, Kwargs options) {
  return layer("torch.nn.Conv3d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr ConvTranspose1d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options) {
  return layer("torch.nn.ConvTranspose1d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr ConvTranspose2d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options) {
  return layer("torch.nn.ConvTranspose2d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr ConvTranspose3d(int64_t in_channels, int64_t out_channels, Value kernel_size,
                          Kwargs options) {
  return layer("torch.nn.ConvTranspose3d", {in_channels, out_channels, std::move(kernel_size)},
               std::move(options));
}
ModulePtr Linear(int64_t in_features, int64_t out_features, Kwargs options) {
  return layer("torch.nn.Linear", {in_features, out_features}, std::move(options));
}
ModulePtr Embedding(int64_t num_embeddings, int64_t embedding_dim, Kwargs options) {
  return layer("torch.nn.Embedding", {num_embeddings, embedding_dim}, std::move(options));
}
ModulePtr BatchNorm1d(int64_t num_features, Kwargs options) {
  return layer("torch.nn.BatchNorm1d", {num_features}, std::move(options));
}
ModulePtr BatchNorm2d(int64_t num_features, Kwargs options) {
  return layer("torch.nn.BatchNorm2d", {num_features}, std::move(options));
}
ModulePtr BatchNorm3d(int64_t num_features, Kwargs options) {
  return layer("torch.nn.BatchNorm3d", {num_features}, std::move(options));
}
ModulePtr LayerNorm(Value normalized_shape, Kwargs options) {
  return layer("torch.nn.LayerNorm", {std::move(normalized_shape)}, std::move(options));
}
ModulePtr GroupNorm(int64_t num_groups, int64_t num_channels, Kwargs options) {
  return layer("torch.nn.GroupNorm", {num_groups, num_channels}, std::move(options));
}
ModulePtr InstanceNorm2d(int64_t num_features, Kwargs options) {
  return layer("torch.nn.InstanceNorm2d", {num_features}, std::move(options));
}
ModulePtr ReLU(Kwargs options) { return layer("torch.nn.ReLU", {}, std::move(options)); }
ModulePtr ReLU6(Kwargs options) { return layer("torch.nn.ReLU6", {}, std::move(options)); }
ModulePtr LeakyReLU(Kwargs options) { return layer("torch.nn.LeakyReLU", {}, std::move(options)); }
ModulePtr PReLU(Kwargs options) { return layer("torch.nn.PReLU", {}, std::move(options)); }
ModulePtr ELU(Kwargs options) { return layer("torch.nn.ELU", {}, std::move(options)); }
ModulePtr SiLU(Kwargs options) { return layer("torch.nn.SiLU", {}, std::move(options)); }
ModulePtr GELU(Kwargs options) { return layer("torch.nn.GELU", {}, std::move(options)); }
ModulePtr Mish(Kwargs options) { return layer("torch.nn.Mish", {}, std::move(options)); }
ModulePtr Sigmoid() { return layer("torch.nn.Sigmoid", {}); }
ModulePtr Tanh() { return layer("torch.nn.Tanh", {}); }
ModulePtr Hardswish(Kwargs options) { return layer("torch.nn.Hardswish", {}, std::move(options)); }
ModulePtr Hardsigmoid(Kwargs options) {
  return layer("torch.nn.Hardsigmoid", {}, std::move(options));
}
ModulePtr Softmax(int64_t dim) { return layer("torch.nn.Softmax", {dim}); }
ModulePtr MaxPool2d(Value kernel_size, Kwargs options) {
  return layer("torch.nn.MaxPool2d", {std::move(kernel_size)}, std::move(options));
}
ModulePtr AvgPool2d(Value kernel_size, Kwargs options) {
  return layer("torch.nn.AvgPool2d", {std::move(kernel_size)}, std::move(options));
}
ModulePtr AdaptiveAvgPool2d(Value output_size) {
  return layer("torch.nn.AdaptiveAvgPool2d", {std::move(output_size)});
}
ModulePtr AdaptiveMaxPool2d(Value output_size, Kwargs options) {
  return layer("torch.nn.AdaptiveMaxPool2d", {std::move(output_size)}, std::move(options));
}
ModulePtr Identity() { return layer("torch.nn.Identity", {}); }
ModulePtr Flatten(Kwargs options) { return layer("torch.nn.Flatten", {}, std::move(options)); }
ModulePtr Dropout(double p, Kwargs options) {
  return layer("torch.nn.Dropout", {p}, std::move(options));
}
ModulePtr Upsample(Kwargs options) { return layer("torch.nn.Upsample", {}, std::move(options)); }
ModulePtr PixelShuffle(int64_t upscale_factor) {
  return layer("torch.nn.PixelShuffle", {upscale_factor});
}
ModulePtr MultiheadAttention(int64_t embed_dim, int64_t num_heads, Kwargs options) {
  return layer("torch.nn.MultiheadAttention", {embed_dim, num_heads}, std::move(options));
}
ModulePtr LSTM(int64_t input_size, int64_t hidden_size, Kwargs options) {
  return layer("torch.nn.LSTM", {input_size, hidden_size}, std::move(options));
}
ModulePtr GRU(int64_t input_size, int64_t hidden_size, Kwargs options) {
  return layer("torch.nn.GRU", {input_size, hidden_size}, std::move(options));
}

namespace {

/// The arguments a module was constructed with: its attributes, and for a flag such as `bias`
/// whether the parameter exists.
std::vector<Value> constructor_values(const Module& module, const fx::Schema& constructor) {
  std::vector<Value> values;
  for (const fx::Parameter& p : constructor.parameters()) {
    const at::Tensor* tensor = module.own_parameters().find(p.name);
    values.push_back(tensor ? Value(tensor->defined()) : module.attribute(p.name));
  }
  return values;
}

void copy_into(const Module& module, const fx::TensorList& tensors) {
  for (const auto& [path, value] : tensors) {
    if (value.defined()) at::Tensor(*module.find_tensor(path)).copy_(value);
  }
}

}  // namespace

void reset_parameters(Module& module, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const Random random(seed);
  for (const auto& [path, part] : module.named_modules()) {
    if (!part->is_operator()) continue;
    const fx::ModuleForm& form = *fx::operators().get(part->type()).module;
    if (!form.init) continue;
    const Args constructor(form.constructor, constructor_values(*part, form.constructor));
    const fx::ModuleState state = form.init(constructor, random.fork(path).generator());
    copy_into(*part, state.parameters);
    copy_into(*part, state.buffers);
  }
}

}  // namespace sparsebit::nn
