#include "export/ops/padding.h"

#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// Circular padding of one axis.
OnnxTensor wrap(Call& c, const OnnxTensor& x, int64_t axis, int64_t before, int64_t after) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  std::vector<OnnxTensor> parts;
  if (before > 0) parts.push_back(c.w.slice(x, axis, -before, kEnd));
  // Negative amounts crop.
  const OnnxTensor middle =
      before < 0 || after < 0
          ? c.w.slice(x, axis, std::max<int64_t>(0, -before), after < 0 ? after : kEnd)
          : x;
  parts.push_back(middle);
  if (after > 0) parts.push_back(c.w.slice(x, axis, 0, after));
  return c.w.concat(parts, axis);
}

/// Crops negative amounts with Slice, since not every runtime supports them in Pad.
OnnxTensor cut(Call& c, OnnxTensor x, Ints& pads) {
  const auto axes = static_cast<int64_t>(pads.size() / 2);
  for (int64_t i = 0; i < axes; ++i) {
    int64_t &before = pads[static_cast<size_t>(i)], &after = pads[static_cast<size_t>(i + axes)];
    if (before >= 0 && after >= 0) continue;
    const int64_t stop = after < 0 ? after : std::numeric_limits<int64_t>::max();
    x = c.w.slice(x, x.rank() - axes + i, std::max<int64_t>(0, -before), stop);
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  return x;
}

NodeResult pad(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const std::string mode = c.text("mode");
  const auto spatial = c.args().optional_integer("spatial_dims");
  const OnnxTensor value = c.is_none("value") ? OnnxTensor{} : c.scalar(c.val("value"), x.dtype);
  const NodeResult given = c.val("padding");
  if (!given.is_plain()) {  // computed amounts, from the last axis on
    if (mode != "constant")
      c.unsupported("padding is computed by the graph in mode '" + mode + "'");
    const OnnxTensor amounts = c.int_vector(given);
    const int64_t count = amounts.size(0) / 2;
    const OnnxTensor pairs = c.w.flip(c.w.reshape(amounts, Shape{count, 2}), 0);
    const OnnxTensor sides = c.w.transpose(pairs, {1, 0});
    const OnnxTensor padded =
        c.w.pad(sides, Ints{0, x.rank() - count, 0, 0}, "constant", c.w.scalar(0, at::kLong));
    return c.w.pad(x, c.w.reshape(padded, Shape{-1}), "constant", value);
  }
  const Ints amounts =
      spatial ? c.ints("padding", static_cast<size_t>(2 * *spatial)) : c.ints("padding");
  const size_t axes = amounts.size() / 2;
  Ints pads(amounts.size());
  for (size_t i = 0; i < axes; ++i) {
    pads[axes - 1 - i] = amounts[2 * i];
    pads[2 * axes - 1 - i] = amounts[2 * i + 1];
  }
  return pad_spatial(c, x, pads, mode, value);
}

}  // namespace

OnnxTensor pad_spatial(Call& c, const OnnxTensor& x, const std::vector<int64_t>& amounts,
                       const std::string& mode, const OnnxTensor& value) {
  Ints pads = amounts;
  const auto axes = static_cast<int64_t>(pads.size() / 2);
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) return x;
  if (mode == "circular") {
    OnnxTensor y = x;
    for (int64_t i = 0; i < axes; ++i) {
      y = wrap(c, y, x.rank() - axes + i, pads[static_cast<size_t>(i)],
               pads[static_cast<size_t>(i + axes)]);
    }
    return y;
  }
  const OnnxTensor rest = cut(c, x, pads);
  const auto leading = static_cast<size_t>(x.rank() - axes);
  pads.insert(pads.begin() + axes, leading, 0);
  pads.insert(pads.begin(), leading, 0);
  const std::string name = mode == "replicate" ? "edge" : mode;
  // Not every runtime has a Pad kernel for bool.
  const OnnxTensor wide = c.w.cast(rest, rest.dtype == at::kBool ? at::kInt : rest.dtype);
  const OnnxTensor fill = value.present() ? c.w.cast(value, wide.dtype) : value;
  return c.w.cast(c.w.pad(wide, pads, name, mode == "constant" ? fill : OnnxTensor{}), x.dtype);
}

void add_padding_converters(Converters& table) { table.add("pad", pad); }

}  // namespace sparsebit::exports
