#pragma once

#include "sparsebit/quant/observers/observer.h"

// Observers for the initial scales of trained quantizers.

namespace sparsebit::quant {

/// `low` is the minimum, `high` the mean magnitude.
std::unique_ptr<Observer> make_mean_magnitude(const QuantSpec& spec, const ObserverConfig& config);

/// The mean plus and minus three sample standard deviations.
std::unique_ptr<Observer> make_three_sigma(const QuantSpec& spec, const ObserverConfig& config);

}  // namespace sparsebit::quant
