#pragma once

#include "sparsebit/data/model_data.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// Facts about a model's inputs and outputs, from which preprocessing is guessed.
struct ModelFacts {
  struct Output {
    std::string name;
    std::vector<int64_t> shape = {};  ///< -1: dynamic; empty: unknown
  };

  std::vector<InputSpec> inputs;  ///< dynamic sizes may be replaced by those of an example
  std::vector<Output> outputs = {};
  std::map<std::string, std::string> metadata = {};  ///< metadata of the model file
  /// For inputs that the model normalizes itself: the maximum of the expected pixels, 255 or 1.
  std::map<std::string, double> own_ranges = {};
  /// For inputs of ids: the number of rows of the embedding table.
  std::map<std::string, int64_t> table_rows = {};
};

/// Collects the facts from a graph.
ModelFacts facts_of(const fx::GraphModule& module);

}  // namespace sparsebit::data
