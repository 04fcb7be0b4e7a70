#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

// One function per quantizer, each in a file of its own name; quantizer.cpp lists them.

namespace sparsebit::quant {

QuantizerPtr make_uniform(const QuantSpec&, const TensorConfig&);   ///< fixed scales
QuantizerPtr make_dorefa(const QuantSpec&, const TensorConfig&);    ///< of tanh(x)
QuantizerPtr make_lsq(const QuantSpec&, const TensorConfig&);       ///< trained scales
QuantizerPtr make_lsq_plus(const QuantSpec&, const TensorConfig&);  ///< trained zero points, too
QuantizerPtr make_pact(const QuantSpec&, const TensorConfig&);      ///< trained limit
QuantizerPtr make_adaround(const QuantSpec&, const TensorConfig&);  ///< trained rounding

/// Copies a module of this class, as fx::Module::clone() wants.
template <class Derived>
class CloneableQuantizer : public Quantizer {
 public:
  using Quantizer::Quantizer;

 protected:
  fx::ModulePtr shallow_copy() const override {
    return std::make_shared<Derived>(static_cast<const Derived&>(*this));
  }
};

}  // namespace sparsebit::quant
