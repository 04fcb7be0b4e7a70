#pragma once

#include "sparsebit/core/named_tensors.h"
#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>

namespace sparsebit::quant {

/// The contents of the file of a quantized model: tensors, and a JSON description (graph, modules,
/// quantizers with schemes, bits and states). Loading it needs no model, config or data.
struct SavedModel {
  NamedTensors tensors;
  std::string description;
};

/// Deterministic: the same model gives the same bytes. Throws Unsupported, naming the module, for
/// modules that are C++ code, which cannot be saved.
SavedModel save_model(const QuantModel& model);

/// Throws InvalidModel, with the reason, for contents that save_model() does not write.
std::unique_ptr<QuantModel> restore_model(const SavedModel& saved);

}  // namespace sparsebit::quant
