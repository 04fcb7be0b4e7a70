#pragma once

#include "sparsebit/quant/spec/qconfig.h"

#include <functional>
#include <string>
#include <vector>

// The keys of a config as a table: what a file may say, and where it goes.

namespace sparsebit::quant {

/// One key below `W` or `A`.
struct TensorKey {
  std::string path;  ///< "QUANTIZER.BIT"
  bool for_weights;
  bool for_features;
  std::function<void(TensorConfig&, const Yaml&)> set;
};

const std::vector<TensorKey>& tensor_keys();

/// Sets one key of `W` or `A`, whatever its case. Throws InvalidArgument with near keys for others.
void set_tensor_key(TensorConfig& config, Target target, const std::string& key, const Yaml& value);

/// Throws InvalidArgument when settings do not go together. `where` is for the message.
void check_tensor_config(const TensorConfig& config, Target target, Backend backend,
                         const std::string& where);

}  // namespace sparsebit::quant
