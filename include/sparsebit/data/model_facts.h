#pragma once

#include "sparsebit/data/model_data.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// What a model tells of what it takes and gives: for guesses.
struct ModelFacts {
  struct Output {
    std::string name;
    std::vector<int64_t> shape = {};  ///< -1 where open; empty when not known
  };

  std::vector<InputSpec> inputs;  ///< with sizes of an example where the model leaves them open
  std::vector<Output> outputs = {};
  std::map<std::string, std::string> metadata = {};  ///< of the file
  /// Up to which number a model takes pixels that normalizes them itself, 255 or 1, by input.
  std::map<std::string, double> own_ranges = {};
  /// Rows of the tables that inputs of integers are looked up in, by input.
  std::map<std::string, int64_t> table_rows = {};
};

/// Read off a graph.
ModelFacts facts_of(const fx::GraphModule& module);

}  // namespace sparsebit::data
