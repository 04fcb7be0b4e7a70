#pragma once

#include "sparsebit/quant/observers/observer.h"

// Observers of what methods start their training from.

namespace sparsebit::quant {

/// The smallest number as `low`, and the mean of the magnitudes as `high`.
std::unique_ptr<Observer> make_mean_magnitude(const QuantSpec& spec, const ObserverConfig& config);

/// Three standard deviations (of a sample: divided by one less) around the mean.
std::unique_ptr<Observer> make_three_sigma(const QuantSpec& spec, const ObserverConfig& config);

}  // namespace sparsebit::quant
