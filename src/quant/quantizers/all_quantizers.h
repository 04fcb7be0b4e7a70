#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

// One function per quantizer, each in a file of its own name; quantizer.cpp lists them.

namespace sparsebit::quant {

QuantizerPtr make_uniform(const QuantSpec&, const TensorConfig&);   ///< fixed scales
QuantizerPtr make_gptq(const QuantSpec&, const TensorConfig&);      ///< closed-form rounding
QuantizerPtr make_dorefa(const QuantSpec&, const TensorConfig&);    ///< of tanh(x)
QuantizerPtr make_lsq(const QuantSpec&, const TensorConfig&);       ///< trained scales
QuantizerPtr make_lsq_plus(const QuantSpec&, const TensorConfig&);  ///< trained zero points, too
QuantizerPtr make_pact(const QuantSpec&, const TensorConfig&);      ///< trained limit
QuantizerPtr make_adaround(const QuantSpec&, const TensorConfig&);  ///< trained rounding
QuantizerPtr make_dsq(const QuantSpec&, const TensorConfig&);       ///< soft rounding in training
QuantizerPtr make_tqt(const QuantSpec&, const TensorConfig&);       ///< powers of two, for Vitis AI
QuantizerPtr make_nnie(const QuantSpec&, const TensorConfig&);      ///< logarithmic

/// For biases of integer layers. It cannot be chosen in a config, so it is not in quantizers().
QuantizerPtr make_bias(const QuantSpec&, const TensorConfig&);

}  // namespace sparsebit::quant
