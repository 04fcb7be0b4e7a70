#pragma once

#include "sparsebit/core/named_tensors.h"
#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>

namespace sparsebit::quant {

/// A quantized model as what a file holds: tensors, and a text that says how they belong together
/// (JSON: graph, modules, quantizers with schemes, bits and states). It needs neither the model nor
/// the config nor data to be read again.
struct SavedModel {
  NamedTensors tensors;
  std::string description;
};

/// The same model gives the same bytes. Throws Unsupported, naming it, for a module that is C++
/// code: a file cannot hold it.
SavedModel save_model(const QuantModel& model);

/// Throws InvalidModel, saying what, for anything that save_model() does not write.
std::unique_ptr<QuantModel> restore_model(const SavedModel& saved);

}  // namespace sparsebit::quant
