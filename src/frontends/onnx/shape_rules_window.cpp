#include "frontends/onnx/shape_rules.h"
#include "fx/ops/onnx_resize.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::TensorInfo;
using Ints = std::vector<int64_t>;

/// The sizes of a convolution's kernel, -1 where neither its weight nor `kernel_shape` gives it.
Ints kernel_sizes(const Conversion& c, const TensorInfo& weight) {
  Ints kernel(weight.shape.begin() + 2, weight.shape.end());
  const Ints stated = c.attributes().ints("kernel_shape", kernel);
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] < 0 && stated.size() == kernel.size()) kernel[i] = stated[i];
  }
  return kernel;
}

/// Output sizes of a kernel that slides over all axes but the first two; empty when unknown.
Ints slide(const Conversion& c, const TensorInfo& x, const Ints& kernel) {
  const size_t n = kernel.size();
  const Attributes& a = c.attributes();
  const Ints strides = a.ints("strides", Ints(n, 1)), dilations = a.ints("dilations", Ints(n, 1));
  const Ints pads = a.ints("pads", Ints(2 * n, 0));
  const std::string mode = a.text("auto_pad", "NOTSET");
  const bool round_up = a.flag("ceil_mode", false);
  if (x.shape.size() != n + 2 || strides.size() != n || dilations.size() != n ||
      pads.size() != 2 * n) {
    return {};
  }
  Ints sizes;
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = x.shape[i + 2], stride = strides[i];
    if (stride <= 0) return {};
    if (size < 0) {
      sizes.push_back(-1);
      continue;
    }
    if (mode.starts_with("SAME")) {
      sizes.push_back((size + stride - 1) / stride);
      continue;
    }
    if (kernel[i] < 0) {
      sizes.push_back(-1);
      continue;
    }
    const int64_t padding = mode == "VALID" ? 0 : pads[i] + pads[i + n];
    const int64_t room = size + padding - dilations[i] * (kernel[i] - 1) - 1;
    int64_t steps = (room + (round_up ? stride - 1 : 0)) / stride + 1;
    // a last window that would start in the padding after the data is left out
    if (round_up && (steps - 1) * stride >= size + (mode == "VALID" ? 0 : pads[i])) --steps;
    sizes.push_back(room < 0 ? 0 : steps);
  }
  return sizes;
}

MaybeInfo with_sizes(const TensorInfo& x, std::optional<int64_t> channels, const Ints& sizes) {
  if (sizes.empty()) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = x.dtype};
  copy_size(x, 0, result);
  if (channels) {
    add_size(result, *channels);
  } else {
    copy_size(x, 1, result);
  }
  for (const int64_t size : sizes) add_size(result, size);
  return result;
}

MaybeInfo convolution(const Conversion& c) {
  const MaybeInfo x = c.info(0), weight = c.info(1);
  if (!x || !weight || weight->shape.size() < 3) return std::nullopt;
  return with_sizes(*x, weight->shape[0], slide(c, *x, kernel_sizes(c, *weight)));
}

MaybeInfo transposed_convolution(const Conversion& c) {
  const MaybeInfo x = c.info(0), weight = c.info(1);
  if (!x || !weight || weight->shape.size() < 3 || x->shape.size() != weight->shape.size()) {
    return std::nullopt;
  }
  const Attributes& a = c.attributes();
  const size_t n = weight->shape.size() - 2;
  const Ints strides = a.ints("strides", Ints(n, 1)), dilations = a.ints("dilations", Ints(n, 1));
  const Ints pads = a.ints("pads", Ints(2 * n, 0)), extra = a.ints("output_padding", Ints(n, 0));
  const Ints kernel = kernel_sizes(c, *weight);
  const bool plain = !a.has("output_shape") && a.text("auto_pad", "NOTSET") == "NOTSET" &&
                     strides.size() == n && dilations.size() == n && pads.size() == 2 * n &&
                     extra.size() == n;
  Ints sizes(n, -1);
  for (size_t i = 0; plain && i < n; ++i) {
    if (x->shape[i + 2] < 0 || kernel[i] < 0) continue;
    sizes[i] = strides[i] * (x->shape[i + 2] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 -
               pads[i] - pads[i + n];
  }
  const int64_t groups = a.integer("group", 1);
  return with_sizes(*x, weight->shape[1] < 0 ? -1 : weight->shape[1] * groups, sizes);
}

MaybeInfo pooling(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  const auto kernel = c.attributes().ints("kernel_shape");
  if (!x || !kernel) return std::nullopt;
  return with_sizes(*x, std::nullopt, slide(c, *x, *kernel));
}

MaybeInfo global_pooling(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x || x->shape.size() < 3) return std::nullopt;
  return with_sizes(*x, std::nullopt, Ints(x->shape.size() - 2, 1));
}

MaybeInfo gemm(const Conversion& c) {
  const MaybeInfo a = c.info(0), b = c.info(1);
  if (!a || !b || a->shape.size() != 2 || b->shape.size() != 2) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = a->dtype};
  copy_size(*a, c.attributes().flag("transA", false) ? 1 : 0, result);
  copy_size(*b, c.attributes().flag("transB", false) ? 0 : 1, result);
  return result;
}

MaybeInfo matmul(const Conversion& c) {
  const MaybeInfo a = c.info(0), b = c.info(1);
  if (!a || !b || a->shape.size() < 2 || b->shape.size() < 2) return std::nullopt;
  if (b->shape.size() > a->shape.size()) {
    return unnamed(Ints(b->shape.size(), -1), a->dtype);
  }
  TensorInfo result{.shape = {}, .dtype = a->dtype};
  const size_t extra = a->shape.size() - b->shape.size();
  for (size_t i = 0; i + 2 < a->shape.size(); ++i) {
    const bool from_b = i >= extra && a->shape[i] == 1;
    copy_size(from_b ? *b : *a, from_b ? i - extra : i, result);
  }
  copy_size(*a, a->shape.size() - 2, result);
  copy_size(*b, b->shape.size() - 1, result);
  return result;
}

MaybeInfo scaled(const TensorInfo& x, const at::Tensor& scales) {
  TensorInfo result{.shape = {}, .dtype = x.dtype};
  const at::Tensor factors = scales.to(at::kDouble).contiguous();
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const double factor = factors.data_ptr<double>()[i];
    const double size = fx::resized(x.shape[i], factor);
    const bool fits = size >= 0 && size < 1e15;
    if (factor == 1.0) {
      copy_size(x, i, result);
    } else {
      add_size(result, x.shape[i] < 0 || !fits ? -1 : static_cast<int64_t>(size));
    }
  }
  return result;
}

MaybeInfo resize(const Conversion& c) {
  const MaybeInfo x = c.info(0);
  if (!x || c.attributes().has("axes") || c.attributes().has("keep_aspect_ratio_policy")) {
    return std::nullopt;
  }
  if (c.has_input(3)) {
    const auto sizes = c.int_list(3);
    if (!sizes || sizes->items.size() != x->shape.size()) return std::nullopt;
    TensorInfo result{.shape = {}, .dtype = x->dtype};
    for (const fx::Value& size : sizes->items) add_size(result, size.is_int() ? size.to_int() : -1);
    return result;
  }
  const at::Tensor* scales = c.constant(c.type() == "Upsample" || c.opset() < 11 ? 1 : 2);
  const bool fits = scales && scales->numel() == static_cast<int64_t>(x->shape.size());
  return fits ? scaled(*x, *scales) : unnamed(Ints(x->shape.size(), -1), x->dtype);
}

/// DepthToSpace and its inverse.
MaybeInfo blocks(const Conversion& c) {
  MaybeInfo x = c.info(0);
  const int64_t block = c.attributes().integer("blocksize");
  if (!x || x->shape.size() != 4 || block <= 0 || block > 1 << 15) return std::nullopt;
  const bool to_space = c.type() == "DepthToSpace";
  const auto times = [](int64_t size, int64_t by) { return size < 0 ? -1 : size * by; };
  const auto over = [](int64_t size, int64_t by) { return size < 0 ? -1 : size / by; };
  int64_t& channels = x->shape[1];
  channels = to_space ? over(channels, block * block) : times(channels, block * block);
  for (const size_t i : {size_t{2}, size_t{3}}) {
    x->shape[i] = to_space ? times(x->shape[i], block) : over(x->shape[i], block);
  }
  // the symbol of a size does not name its multiple
  for (size_t i = 1; i < x->symbols.size(); ++i) x->symbols[i] = "";
  return x;
}

/// [seq, directions, batch, hidden]
MaybeInfo recurrent(const Conversion& c) {
  const MaybeInfo x = c.info(0), weight = c.info(2);
  if (!x || !weight || x->shape.size() != 3 || weight->shape.size() != 3) return std::nullopt;
  const bool batch_first = c.attributes().flag("layout", false);
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  copy_size(*x, 0, result);
  if (batch_first) copy_size(*x, 1, result);
  copy_size(*weight, 0, result);
  if (!batch_first) copy_size(*x, 1, result);
  copy_size(*weight, 2, result);
  return result;
}

}  // namespace

void add_window_rules(ShapeRules& r) {
  r["Conv"] = convolution;
  r["ConvTranspose"] = transposed_convolution;
  for (const char* type : {"AveragePool", "LpPool", "MaxPool"}) r[type] = pooling;
  for (const char* type : {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"}) {
    r[type] = global_pooling;
  }
  r["Gemm"] = gemm;
  r["MatMul"] = matmul;
  r["Resize"] = r["Upsample"] = resize;
  r["DepthToSpace"] = r["SpaceToDepth"] = blocks;
  r["GRU"] = r["LSTM"] = r["RNN"] = recurrent;
}

}  // namespace sparsebit::frontends
