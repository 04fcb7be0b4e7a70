#include "export/ops/families.h"
#include "export/ops/index.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// Parameters of fold and unfold, height first.
struct Patches {
  Ints kernel, dilation, padding, stride;

  explicit Patches(Call& c)
      : kernel(c.ints("kernel_size", 2)),
        dilation(c.ints("dilation", 2)),
        padding(c.ints("padding", 2)),
        stride(c.ints("stride", 2)) {}

  /// The position on one padded axis of each kernel offset in each window: [kernel, windows].
  at::Tensor places(size_t axis, int64_t size) const {
    const int64_t span = size + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    const int64_t windows = span / stride[axis] + 1;
    return at::arange(kernel[axis], at::kLong).unsqueeze(1) * dilation[axis] +
           at::arange(windows, at::kLong).unsqueeze(0) * stride[axis];
  }

  /// Positions in the flattened padded plane: [kernel * kernel, windows * windows].
  at::Tensor plane_places(int64_t height, int64_t width) const {
    const at::Tensor rows = places(0, height), columns = places(1, width);
    const at::Tensor grid = rows.unsqueeze(1).unsqueeze(3) * (width + 2 * padding[1]) +
                            columns.unsqueeze(0).unsqueeze(2);
    return grid.reshape({kernel[0] * kernel[1], -1});
  }
};

/// [N, C, H, W] -> [N, C * kernel, windows]: gather all windows from the padded plane.
NodeResult unfold(Call& c) {
  const Patches p(c);
  OnnxTensor x = c.tensor("input");
  GraphWriter& w = c.w;
  const bool unbatched = x.rank() == 3;
  if (unbatched) x = w.unsqueeze(x, {0});
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  if (channels < 0 || height < 0 || width < 0) c.unsupported("unfold needs a fixed image size");
  const at::Tensor places = p.plane_places(height, width);
  const OnnxTensor padded =
      w.pad(x, {0, 0, p.padding[0], p.padding[1], 0, 0, p.padding[0], p.padding[1]}, "constant");
  const OnnxTensor flat = w.reshape(padded, Shape{0, channels, -1});
  const OnnxTensor windows = w.gather(flat, w.constant(places), 2);  // [N, C, kernel, windows]
  const OnnxTensor columns =
      w.reshape(windows, Shape{0, channels * places.size(0), places.size(1)});
  return unbatched ? w.squeeze(columns, {0}) : columns;
}

/// [N, C * kernel, windows] -> [N, C, H, W]. Each pixel is the sum of the entries at its position,
/// computed as a product with a matrix of zeros and ones.
OnnxTensor sum_by_matrix(Call& c, const Patches& p, const OnnxTensor& x, const Ints& size) {
  GraphWriter& w = c.w;
  const at::Tensor places = p.plane_places(size[0], size[1]);
  const int64_t height = size[0] + 2 * p.padding[0], width = size[1] + 2 * p.padding[1];
  at::Tensor matrix = at::zeros({places.numel(), height * width}, x.dtype);
  matrix.scatter_(1, places.reshape({-1, 1}), 1);
  const int64_t channels = x.size(1) / places.size(0);
  const OnnxTensor flat = w.reshape(x, Shape{0, channels, places.numel()});
  const OnnxTensor plane =
      w.reshape(w.matmul(flat, w.constant(matrix)), Shape{0, channels, height, width});
  const OnnxTensor rows = w.slice(plane, 2, p.padding[0], p.padding[0] + size[0]);
  return w.slice(rows, 3, p.padding[1], p.padding[1] + size[1]);
}

NodeResult fold(Call& c) {
  const Patches p(c);
  OnnxTensor x = c.tensor("input");
  GraphWriter& w = c.w;
  const Ints size = c.ints("output_size", 2);
  const bool unbatched = x.rank() == 2;
  if (unbatched) x = w.unsqueeze(x, {0});
  if (x.size(1) < 0) c.unsupported("fold needs a fixed number of channels");
  OnnxTensor image;
  if (w.opset() >= 18) {
    const Ints pads = {p.padding[0], p.padding[1], p.padding[0], p.padding[1]};
    image = w.op("Col2Im", {x, w.ints(size), w.ints(p.kernel)},
                 {{"dilations", p.dilation}, {"pads", pads}, {"strides", p.stride}}, x.dtype,
                 Shape{x.size(0), x.size(1) / (p.kernel[0] * p.kernel[1]), size[0], size[1]});
  } else {
    image = sum_by_matrix(c, p, x, size);
  }
  return unbatched ? w.squeeze(image, {0}) : image;
}

/// Tensor.unfold: windows over one dimension become a new last dimension.
NodeResult unfold_dim(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t length = c.integer("size"), step = c.integer("step");
  const int64_t dim = x.axis(c.integer("dimension")), size = x.size(dim);
  if (x.rank() == 0) return c.w.reshape(x, Shape{1});
  if (size < 0) c.unsupported("windows over a dimension that is not fixed");
  const int64_t windows = (size - length) / step + 1;
  const at::Tensor places = at::arange(windows, at::kLong).unsqueeze(1) * step +
                            at::arange(length, at::kLong).unsqueeze(0);
  const OnnxTensor found = c.w.gather(x, c.w.constant(places), dim);
  Ints order;
  for (int64_t i = 0; i < found.rank(); ++i) {
    if (i != dim + 1) order.push_back(i);
  }
  order.push_back(dim + 1);
  return c.w.transpose(found, order);
}

/// Start and length of a diagonal in a matrix.
struct Line {
  int64_t row, column, length;
};

Line diagonal_line(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t row = std::max<int64_t>(0, -offset), column = std::max<int64_t>(0, offset);
  return {row, column, std::max<int64_t>(0, std::min(rows - row, columns - column))};
}

/// Moves both dimensions to the end and gathers the diagonal's elements.
OnnxTensor diagonal(Call& c, const OnnxTensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  GraphWriter& w = c.w;
  dim1 = x.axis(dim1);
  dim2 = x.axis(dim2);
  const int64_t rows = x.size(dim1), columns = x.size(dim2);
  if (rows < 0 || columns < 0) c.unsupported("a diagonal needs a matrix of fixed size");
  Ints order;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != dim1 && i != dim2) order.push_back(i);
  }
  Shape flat(order.size(), 0);
  flat.push_back(rows * columns);
  order.insert(order.end(), {dim1, dim2});
  const Line line = diagonal_line(rows, columns, offset);
  const at::Tensor places =
      at::arange(line.length, at::kLong) * (columns + 1) + line.row * columns + line.column;
  return w.gather(w.reshape(w.transpose(x, order), flat), w.constant(places), -1);
}

/// diag_embed: the last dimension becomes a diagonal of a matrix.
OnnxTensor diagonal_matrix(Call& c, const OnnxTensor& x, int64_t offset) {
  GraphWriter& w = c.w;
  const int64_t length = x.size(-1), size = length + std::abs(offset);
  if (length < 0) c.unsupported("a diagonal matrix needs a dimension of fixed size");
  const at::Tensor mask = at::diag_embed(at::ones({length}, at::kBool), offset);
  // Element (i, j) of the diagonal comes from the entry that belongs to row i.
  const at::Tensor source = (at::arange(size, at::kLong) - std::max<int64_t>(0, -offset))
                                .clamp(0, std::max<int64_t>(0, length - 1));
  const OnnxTensor rows = w.unsqueeze(w.gather(x, w.constant(source), -1), {-1});
  return w.where(w.constant(mask), rows, w.scalar_like(0, x));
}

NodeResult diag_embed(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t rank = x.rank() + 1;
  const auto wrap = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  int64_t dim1 = wrap(c.integer("dim1")), dim2 = wrap(c.integer("dim2"));
  int64_t offset = c.integer("offset");
  if (dim1 > dim2) {
    std::swap(dim1, dim2);
    offset = -offset;
  }
  const OnnxTensor matrix = diagonal_matrix(c, x, offset);
  Ints order;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    order.push_back(i == dim1 ? rank - 2 : i == dim2 ? rank - 1 : next++);
  return c.w.transpose(matrix, order);
}

}  // namespace

void add_patch_converters(Converters& table) {
  table.add("unfold", unfold);
  table.add("fold", fold);
  table.add("unfold_dim", unfold_dim);
  table.add("diagonal", [](Call& c) -> NodeResult {
    return diagonal(c, c.tensor("input"), c.integer("offset"), c.integer("dim1"),
                    c.integer("dim2"));
  });
  table.add("diag", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    const int64_t offset = c.integer("diagonal");
    return x.rank() == 1 ? diagonal_matrix(c, x, offset) : diagonal(c, x, offset, 0, 1);
  });
  table.add("diag_embed", diag_embed);
}

}  // namespace sparsebit::exports
