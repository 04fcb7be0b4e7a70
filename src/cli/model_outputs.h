#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// One tensor a model gave.
struct ModelOutput {
  std::string name;
  at::Tensor tensor;
  std::filesystem::path file = {};  ///< empty until it was written
};

/// What a model returned as a flat list. Names are those of the model's file, the keys of dicts, or
/// those of the nodes; what is None is left out, numbers become tensors.
std::vector<ModelOutput> flatten_outputs(const fx::GraphModule& module, const fx::Value& result);

/// Writes every output as FOLDER/NAME.npy, each complete or not at all, and notes the files.
/// Characters of names that do not belong into a file's name become '_'.
void save_outputs(std::vector<ModelOutput>& outputs, const std::filesystem::path& folder);

/// output, dtype, shape, min, max, mean and, where written, file.
std::string outputs_as_table(const std::vector<ModelOutput>& outputs);
std::string outputs_as_json(const std::vector<ModelOutput>& outputs);

}  // namespace sparsebit::cli
