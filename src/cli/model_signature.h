#pragma once

#include "sparsebit/fx/graph_module.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// An input or output of a model, with type and shape if known.
struct Slot {
  std::string name;
  std::optional<fx::TensorInfo> info = {};
  std::string foreign_type = {};  ///< type of an input that is not a supported tensor
};

std::vector<Slot> input_slots(const fx::GraphModule& module);

/// The outputs, with the names that `run` shows and `convert` writes.
/// @param result  the result of a run, if there was one.
std::vector<Slot> output_slots(const fx::GraphModule& module,
                               const std::optional<fx::Value>& result);

/// A line per input and output: `input   x  float32[1, 3, 224, 224]`.
std::string signature_as_text(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs);

/// fx::to_json() with `inputs` and `outputs`, each with `name` and, where known, `dtype` and
/// `shape`, in which a dynamic size is its symbol or null.
std::string model_as_json(const fx::GraphModule& module, const std::vector<Slot>& inputs,
                          const std::vector<Slot>& outputs);

}  // namespace sparsebit::cli
