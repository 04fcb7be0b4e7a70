#pragma once

#include "sparsebit/passes/pass.h"

// One function per pass, each in a file of its own name; registry.cpp puts them in order.

namespace sparsebit::passes {

// simplify/
Pass out_of_place();                 ///< relu_(x) -> relu(x)
Pass remove_identity();              ///< identity(x), dropout(x) -> x
Pass getattr_to_shape();             ///< x.shape[d] -> x.size(d)
Pass unbind_getitem_to_subtensor();  ///< unbind(x, 1)[i] -> x[:, i]
Pass fold_constants();               ///< f(constants) -> constant
Pass remove_no_ops();                ///< x * 1, x + 0, cat([x]) -> x
Pass merge_duplicates();             ///< f(x), f(x) -> f(x)
Pass recognize_layer_norm();         ///< (x - mean) / sqrt(variance + eps) * weight + bias
Pass recognize_relu();               ///< clamp(x, 0), maximum(x, 0) -> relu(x)
Pass recognize_gelu();               ///< x / 2 * (1 + erf(x / sqrt(2))), and with tanh
Pass recognize_silu();               ///< x * sigmoid(x)
Pass recognize_hardswish();          ///< x * relu6(x + 3) / 6
Pass recognize_attention();          ///< softmax(query @ key^T * scale + mask) @ value
Pass merge_transposes();             ///< permute(permute(x, a), b) -> permute(x, a[b])
Pass merge_reshapes();               ///< reshape(reshape(x, a), b) -> reshape(x, b)
Pass matmul_to_linear();             ///< x @ constant + bias -> linear(x)
Pass functions_to_layers();          ///< conv2d(x, weight, bias) -> Conv2d(x)
Pass merge_pads();                   ///< conv(pad(x)) -> conv(x) with more padding

// fuse/
Pass fuse_bn();         ///< bn(layer(x)) -> layer(x): weight * factor, bias * factor + shift
Pass fuse_bn_before();  ///< layer(bn(x)) -> layer(x): weight * factor, bias + weight @ shift
Pass fuse_scale();      ///< layer(x) * a + b -> layer(x), constants a and b per channel

// equalize/
Pass equalize_layers();  ///< first * s, second / s with s = sqrt(range of second / of first)

}  // namespace sparsebit::passes
