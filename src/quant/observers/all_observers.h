#pragma once

#include "sparsebit/quant/observers/observer.h"

// One function per observer, each in a file of its own name; observer.cpp lists them.

namespace sparsebit::quant {

using ObserverPtr = std::unique_ptr<Observer>;

ObserverPtr make_min_max(const QuantSpec&, const ObserverConfig&);         ///< smallest and largest
ObserverPtr make_moving_average(const QuantSpec&, const ObserverConfig&);  ///< of each sample's
ObserverPtr make_percentile(const QuantSpec&, const ObserverConfig&);    ///< without the outermost
ObserverPtr make_mse(const QuantSpec&, const ObserverConfig&);           ///< least squared error
ObserverPtr make_aciq(const QuantSpec&, const ObserverConfig&);          ///< best for a bell curve
ObserverPtr make_kl_histogram(const QuantSpec&, const ObserverConfig&);  ///< least divergence
ObserverPtr make_ema_quantile(const QuantSpec&, const ObserverConfig&);  ///< averaged quantiles
ObserverPtr make_clip_std(const QuantSpec&, const ObserverConfig&);      ///< around the mean
ObserverPtr make_lsq_observer(const QuantSpec&, const ObserverConfig&);  ///< of learned step sizes
ObserverPtr make_batch_mse(const QuantSpec&, const ObserverConfig&);     ///< least error of a batch
ObserverPtr make_ema_mse(const QuantSpec&, const ObserverConfig&);       ///< that, averaged
ObserverPtr make_min_max_floor(const QuantSpec&, const ObserverConfig&);  ///< power of two
ObserverPtr make_pot_mode(const QuantSpec&, const ObserverConfig&);  ///< most frequent power of two

}  // namespace sparsebit::quant
