#include "quant/rounding/nearest_plane.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::quant {
namespace {

/// Inputs whose mutual corrections are computed one by one; those of all others in one product.
constexpr int64_t kBlock = 64;

at::Tensor selected(const at::Tensor& per_input, const at::Tensor& order) {
  return per_input.size(2) == 1 ? per_input
                                : per_input.gather(2, order.unsqueeze(1).expand_as(per_input));
}

}  // namespace

at::Tensor WeightGrid::integers(const at::Tensor& weight) const {
  return at::round(weight / scale + zero_point).clamp(qmin, qmax);
}

at::Tensor WeightGrid::values(const at::Tensor& integers) const {
  return (integers - zero_point) * scale;
}

at::Tensor damped(const at::Tensor& gram, double share, const at::Tensor& least) {
  const at::Tensor diagonal = gram.diagonal(0, 1, 2);
  const at::Tensor added = at::maximum(diagonal.mean(1) * share, least);
  return gram + at::diag_embed(added.unsqueeze(1).expand_as(diagonal));
}

/// With H = L L^T, the error of input j that later ones cannot correct is
/// (e_j L_jj + sum over i > j of e_i L_ij): it is made small for the last input first. Inputs with
/// the largest moments are rounded first, while all others can still make up for it.
at::Tensor nearest_plane(const at::Tensor& weight, const at::Tensor& gram, const WeightGrid& grid) {
  const at::Tensor order =
      gram.diagonal(0, 1, 2).argsort(int64_t{1});  // [groups, inputs], largest last
  const int64_t inputs = weight.size(2);
  const at::Tensor rows = order.unsqueeze(2).expand_as(gram);
  const at::Tensor sorted = gram.gather(1, rows).gather(2, rows.transpose(1, 2));
  const at::Tensor lower = at::linalg_cholesky(sorted);
  const at::Tensor columns = order.unsqueeze(1).expand_as(weight);
  const at::Tensor w = weight.gather(2, columns);
  const at::Tensor scale = selected(grid.scale, order);
  const at::Tensor zero = selected(grid.zero_point, order);
  const auto at_input = [](const at::Tensor& per_input, int64_t j) {
    return per_input.select(2, per_input.size(2) == 1 ? 0 : j);
  };
  const at::Tensor q = at::empty_like(w), errors = at::zeros_like(w);
  for (int64_t end = inputs; end > 0; end -= std::min(end, kBlock)) {
    const int64_t begin = std::max<int64_t>(0, end - kBlock);
    const at::Tensor from_later =
        at::bmm(errors.slice(2, end), lower.slice(1, end).slice(2, begin, end));
    for (int64_t j = end - 1; j >= begin; --j) {
      const at::Tensor in_block =
          at::bmm(errors.slice(2, j + 1, end), lower.slice(1, j + 1, end).slice(2, j, j + 1));
      const at::Tensor owed = from_later.select(2, j - begin) + in_block.squeeze(2);
      const at::Tensor wanted =
          w.select(2, j) + owed / lower.select(1, j).select(1, j).unsqueeze(1);
      const WeightGrid here{at_input(scale, j), at_input(zero, j), grid.qmin, grid.qmax};
      const at::Tensor integers = here.integers(wanted);
      q.select(2, j).copy_(integers);
      errors.select(2, j).copy_(w.select(2, j) - here.values(integers));
    }
  }
  return at::empty_like(q).scatter_(2, columns, q);
}

at::Tensor output_errors(const at::Tensor& difference, const at::Tensor& gram) {
  return (at::bmm(difference, gram) * difference).sum(2);
}

}  // namespace sparsebit::quant
