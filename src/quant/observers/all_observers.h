#pragma once

#include "sparsebit/quant/observers/observer.h"

// One function per observer, each in a file of its own name; observer.cpp lists them.

namespace sparsebit::quant {

using ObserverPtr = std::unique_ptr<Observer>;

ObserverPtr make_min_max(const QuantSpec&, const ObserverConfig&);         ///< minimum and maximum
ObserverPtr make_moving_average(const QuantSpec&, const ObserverConfig&);  ///< averaged ranges
ObserverPtr make_percentile(const QuantSpec&, const ObserverConfig&);      ///< clips outliers
ObserverPtr make_mse(const QuantSpec&, const ObserverConfig&);             ///< least squared error
ObserverPtr make_aciq(const QuantSpec&, const ObserverConfig&);            ///< analytic clipping
ObserverPtr make_kl_histogram(const QuantSpec&, const ObserverConfig&);    ///< least divergence
ObserverPtr make_ema_quantile(const QuantSpec&, const ObserverConfig&);    ///< averaged quantiles
ObserverPtr make_clip_std(const QuantSpec&, const ObserverConfig&);        ///< mean +- n sigma
ObserverPtr make_lsq_observer(const QuantSpec&, const ObserverConfig&);    ///< initial scale of lsq
ObserverPtr make_batch_mse(const QuantSpec&, const ObserverConfig&);      ///< least error per batch
ObserverPtr make_ema_mse(const QuantSpec&, const ObserverConfig&);        ///< averaged batch_mse
ObserverPtr make_min_max_floor(const QuantSpec&, const ObserverConfig&);  ///< power of two
ObserverPtr make_pot_mode(const QuantSpec&, const ObserverConfig&);  ///< most frequent power of two

}  // namespace sparsebit::quant
