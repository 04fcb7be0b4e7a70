#include "frontends/onnx/ops/window.h"

#include "fx/ops/onnx_window.h"

#include "sparsebit/core/error.h"

namespace sparsebit::frontends {
namespace {

using Ints = std::vector<int64_t>;

Ints read_ints(const Conversion& c, const char* name, size_t count, int64_t otherwise,
               int64_t least) {
  Ints values = c.attributes().ints(name, Ints(count, otherwise));
  SPARSEBIT_CHECK(values.size() == count, InvalidModel, name, " has ", values.size(),
                  " entries, expected ", count);
  for (const int64_t value : values) {
    SPARSEBIT_CHECK(value >= least && value < (int64_t{1} << 31), InvalidModel, name, " contains ",
                    value);
  }
  return values;
}

/// The size of spatial axis i of the input; refuses when it is not known.
int64_t spatial_size(const Conversion& c, size_t i) {
  const auto info = c.info(0);
  const bool known = info && info->shape.size() > i + 2 && info->shape[i + 2] >= 0;
  if (!known) c.refuse("SAME padding of an input whose size is not fixed");
  return info->shape[i + 2];
}

void set_padding(Window& window, size_t i, const fx::AxisPadding& padding) {
  window.begin[i] = padding.begin;
  window.end[i] = padding.end;
}

void resolve_same(const Conversion& c, Window& window, const Ints& kernel, bool upper) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    // with stride 1 the padding does not depend on the size
    const int64_t size = window.stride[i] == 1 ? 1 : spatial_size(c, i);
    set_padding(window, i,
                fx::same_padding(size, window.reach(kernel, i), window.stride[i], upper));
  }
}

}  // namespace

std::vector<int64_t> kernel_of(const Conversion& c, size_t weight_input, int64_t spatial) {
  const auto n = static_cast<size_t>(spatial);
  if (c.attributes().has("kernel_shape")) return read_ints(c, "kernel_shape", n, 1, 1);
  const auto weight = c.info(weight_input);
  if (!weight || weight->shape.size() != n + 2) c.refuse("the size of its kernel is not known");
  Ints kernel(weight->shape.begin() + 2, weight->shape.end());
  for (const int64_t size : kernel) {
    if (size < 0) c.refuse("the size of its kernel is not known");
  }
  return kernel;
}

Window read_window(const Conversion& c, int64_t spatial, const Ints& kernel, Direction direction) {
  const auto n = static_cast<size_t>(spatial);
  Window window{.stride = read_ints(c, "strides", n, 1, 1),
                .dilation = read_ints(c, "dilations", n, 1, 1),
                .begin = Ints(n, 0),
                .end = Ints(n, 0)};
  const std::string mode = c.attributes().text("auto_pad", "NOTSET");
  const Ints pads = read_ints(c, "pads", 2 * n, 0, -(int64_t{1} << 31));
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    if (direction == Direction::Forward) resolve_same(c, window, kernel, mode == "SAME_UPPER");
    return window;
  }
  SPARSEBIT_CHECK(mode == "NOTSET" || mode == "VALID", InvalidModel, "auto_pad is '", mode, "'");
  if (mode == "VALID") return window;
  window.begin.assign(pads.begin(), pads.begin() + spatial);
  window.end.assign(pads.begin() + spatial, pads.end());
  return window;
}

bool same_padding_is_open(const Conversion& c, int64_t spatial) {
  if (!c.attributes().text("auto_pad", "NOTSET").starts_with("SAME")) return false;
  const auto info = c.info(0);
  const Ints strides = read_ints(c, "strides", static_cast<size_t>(spatial), 1, 1);
  for (size_t i = 0; i < strides.size(); ++i) {
    const bool known = info && info->shape.size() > i + 2 && info->shape[i + 2] >= 0;
    if (strides[i] != 1 && !known) return true;
  }
  return false;
}

fx::Value pad_to_same(Conversion& c, const Window& window, const Ints& kernel) {
  const bool upper = c.attributes().text("auto_pad", "NOTSET") == "SAME_UPPER";
  fx::List amounts;  // torch counts from the last axis
  for (size_t i = kernel.size(); i-- > 0;) {
    const int64_t stride = window.stride[i], most = window.reach(kernel, i) - 1;
    fx::Value total = most;
    if (stride > 1) {  // the last window ends with the input, or begins on its last elements
      const fx::Value size = c.size(0, static_cast<int64_t>(i) + 2);
      const fx::Value last = c.function("operator.sub", {size, 1});
      total = c.function("operator.sub", {most, c.function("operator.mod", {last, stride})});
      if (most < stride - 1) total = c.function("max", {total, 0});
    }
    const fx::Value less = c.function("operator.floordiv", {total, 2});
    const fx::Value more = c.function("operator.sub", {total, less});
    amounts.items.push_back(upper ? less : more);
    amounts.items.push_back(upper ? more : less);
  }
  return c.node("torch.nn.functional.pad", {c.tensor(0), amounts}, {{"value", 0.0}});
}

fx::Value pad_spatially(Conversion& c, const fx::Value& x, const Window& window, double value) {
  Ints amounts;  // torch counts from the last axis
  for (size_t i = window.begin.size(); i-- > 0;) {
    amounts.push_back(window.begin[i]);
    amounts.push_back(window.end[i]);
  }
  // not folded: the result may be large
  return c.node("torch.nn.functional.pad", {x, amounts}, {{"value", value}});
}

void resolve_output_shape(const Conversion& c, Window& window, const Ints& kernel,
                          Ints& output_padding) {
  const std::string mode = c.attributes().text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const std::optional<Ints> shape = c.attributes().ints("output_shape");
  if (!shape && !same) return;
  for (const int64_t size : shape.value_or(Ints{})) {
    SPARSEBIT_CHECK(size >= 0 && size < (int64_t{1} << 31), InvalidModel, "output_shape contains ",
                    size);
  }
  SPARSEBIT_CHECK(!shape || shape->size() >= kernel.size(), InvalidModel, "output_shape has ",
                  shape->size(), " entries, expected ", kernel.size());
  for (size_t i = 0; i < kernel.size(); ++i) {
    // SAME: the kernel's extent beyond the stride, for any input size
    int64_t total = window.reach(kernel, i) + output_padding[i] - window.stride[i];
    if (shape) {
      total += spatial_size(c, i) * window.stride[i] - (*shape)[shape->size() - kernel.size() + i];
    }
    if (total < 0) {  // the output is larger than the kernel covers: zeros at the end
      window.begin[i] = window.end[i] = 0;
      output_padding[i] -= total;
      continue;
    }
    // an odd element is cut off at the beginning, except for SAME_UPPER
    set_padding(window, i, fx::split_padding(total, mode == "SAME_UPPER"));
  }
}

}  // namespace sparsebit::frontends
