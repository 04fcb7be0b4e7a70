#include "sparsebit/quant/observers/observer.h"

#include "quant/kernels/count_loop.h"
#include "quant/observers/all_observers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <typeinfo>

namespace sparsebit::quant {
namespace {

/// The shape of the scales of x.
std::vector<int64_t> scales_of(const at::Tensor& x, const QuantSpec& spec) {
  if (!spec.is_per_channel()) return {};
  SPARSEBIT_CHECK(x.dim() > 0, InvalidArgument,
                  "per-channel quantization needs a tensor with axes, found a scalar");
  const int64_t channels = x.size(std::min(spec.channel_axis, x.dim() - 1));
  if (spec.group_size == 0) return {channels};
  const int64_t inputs = x.dim() > 1 ? x.size(1) : 1;
  SPARSEBIT_CHECK(inputs % spec.group_size == 0, InvalidArgument, "a group size of ",
                  spec.group_size, " does not divide ", inputs, " inputs");
  return {channels, inputs / spec.group_size};
}

}  // namespace

void Observer::observe(const at::Tensor& x) {
  SPARSEBIT_CHECK(x.is_floating_point(), InvalidArgument,
                  "only floating-point tensors can be quantized, found ", x.toString());
  if (x.numel() == 0) return;
  const std::vector<int64_t> scales = scales_of(x, spec_);
  SPARSEBIT_CHECK(!has_seen_ || scales == scales_, InvalidArgument, "a tensor ", x.sizes(),
                  " does not have the channels of the tensors before, whose scales have shape ",
                  at::IntArrayRef(scales_));
  scales_ = scales;
  add(x.detach().to(at::kFloat));
  has_seen_ = true;
}

void Observer::merge(const Observer& other) {
  SPARSEBIT_CHECK(typeid(*this) == typeid(other) && spec_ == other.spec_, InvalidArgument,
                  "observers of different types or settings cannot be merged");
  if (!other.has_seen_) return;
  SPARSEBIT_CHECK(!has_seen_ || scales_ == other.scales_, InvalidArgument,
                  "observers of different channels cannot be merged");
  scales_ = other.scales_;
  add_seen_by(other);
  has_seen_ = true;
}

ValueRange Observer::range() const {
  SPARSEBIT_CHECK(has_seen_, InvalidArgument, "no data was seen, so there is no range");
  return found();
}

QParams Observer::qparams() const {
  SPARSEBIT_CHECK(has_seen_, InvalidArgument, "no data was seen, so there is no range");
  return found_qparams();
}

QParams Observer::found_qparams() const {
  const ValueRange values = found();
  return qparams_from_range(values.low, values.high, spec_);
}

ValueRange Observer::range_of(const QParams& qparams) const {
  const auto bound = [&](double q) { return (q - qparams.zero_point) * qparams.scale; };
  const double qmin = static_cast<double>(spec_.qmin()), qmax = static_cast<double>(spec_.qmax());
  if (!spec_.is_signed_symmetric()) return {bound(qmin), bound(qmax)};
  const double half = (qmax - qmin) / 2;
  return {bound(-half), bound(half)};
}

void Observer::check_finite(const at::Tensor& x, const at::Tensor& bounds) {
  if (at::isfinite(bounds).all().item<bool>()) return;
  const int64_t nans = at::isnan(x).sum().item<int64_t>();
  const int64_t infinities = at::isinf(x).sum().item<int64_t>();
  throw Error(ErrorKind::InvalidArgument,
              c10::str("there are ", nans, " NaN and ", infinities, " infinities among ", x.numel(),
                       " numbers, so there is no range"));
}

ValueRange Observer::bounds_of_rows(const at::Tensor& x) const {
  const at::Tensor rows = rows_of(x);
  const at::Tensor low = at::empty({rows.size(0)}), high = at::empty({rows.size(0)});
  for (int64_t row = 0; row < rows.size(0); ++row) {
    std::tie(low.data_ptr<float>()[row], high.data_ptr<float>()[row]) =
        quant::bounds_of(rows.data_ptr<float>() + row * rows.size(1), rows.size(1));
  }
  check_finite(x, at::stack({low, high}));
  return {low, high};
}

at::Tensor Observer::rows_of(const at::Tensor& x) const {
  if (!spec_.is_per_channel()) {
    // The order of elements does not matter, so dense tensors are read in memory order.
    return x.is_non_overlapping_and_dense() ? x.as_strided({1, x.numel()}, {x.numel(), 1})
                                            : x.reshape({1, -1}).contiguous();
  }
  if (scales_.size() == 2) return x.reshape({scales_[0] * scales_[1], -1}).contiguous();
  return x.movedim(std::min(spec_.channel_axis, x.dim() - 1), 0)
      .reshape({scales_[0], -1})
      .contiguous();
}

at::Tensor Observer::shaped(const at::Tensor& per_scale) const {
  return per_scale.to(at::kFloat).reshape(scales_);
}

Registry<ObserverFactory>& observers() {
  static Registry<ObserverFactory> registry = [] {
    Registry<ObserverFactory> r("observer");
    r.add("minmax", make_min_max);
    r.add("moving_average", make_moving_average);
    r.add("percentile", make_percentile);
    r.add("mse", make_mse);
    r.add("aciq", make_aciq);
    r.add("kl_histogram", make_kl_histogram);
    r.add("ema_quantile", make_ema_quantile);
    r.add("clip_std", make_clip_std);
    r.add("lsq", make_lsq_observer);
    r.add("batch_mse", make_batch_mse);
    r.add("ema_mse", make_ema_mse);
    r.add("min_max_floor", make_min_max_floor);
    r.add("pot_mode", make_pot_mode);
    return r;
  }();
  return registry;
}

std::unique_ptr<Observer> make_observer(const QuantSpec& spec, const ObserverConfig& config) {
  return observers().get(config.type)(spec, config);
}

}  // namespace sparsebit::quant
