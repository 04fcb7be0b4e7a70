#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// One output tensor of a model.
struct ModelOutput {
  std::string name;
  at::Tensor tensor;
  std::filesystem::path file = {};  ///< empty if not written
};

/// The result of a model as a flat list. Names are those of the model's file, the keys of dicts, or
/// those of the nodes; None is omitted, numbers become tensors.
std::vector<ModelOutput> flatten_outputs(const fx::GraphModule& module, const fx::Value& result);

/// Writes every output as FOLDER/NAME.npy, each atomically, and sets ModelOutput::file. Characters
/// that are not safe in file names become '_'.
void save_outputs(std::vector<ModelOutput>& outputs, const std::filesystem::path& folder);

/// A table of output, dtype, shape, min, max, mean and, if written, file.
std::string outputs_as_table(const std::vector<ModelOutput>& outputs);
std::string outputs_as_json(const std::vector<ModelOutput>& outputs);

}  // namespace sparsebit::easy
