#include "deploy/formats/encodings.h"

namespace sparsebit::deploy {

std::vector<Encoding> encodings_of(const TensorRange& range) {
  const std::vector<double> low = numbers_of(range.low()), high = numbers_of(range.high());
  const std::vector<double> scale = numbers_of(range.scale), zero = numbers_of(range.zero_point);
  std::vector<Encoding> all;
  for (size_t i = 0; i < scale.size(); ++i) {
    all.push_back({.bits = range.bits,
                   .min = low[i],
                   .max = high[i],
                   .scale = scale[i],
                   .offset = range.qmin - static_cast<int64_t>(zero[i]),
                   .is_symmetric = range.is_symmetric()});
  }
  return all;
}

}  // namespace sparsebit::deploy
