#pragma once

#include "sparsebit/quant/config/qconfig.h"

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

/// Where a key stands, for messages; "" asks for the place of them all.
using PlaceOfKey = std::function<std::string(const std::string& key)>;

/// Throws InvalidArgument, saying where, for settings that are missing or do not go together.
void check_tensor_config(const TensorConfig& config, Target target,
                         const platforms::Platform& platform, const PlaceOfKey& place);

}  // namespace sparsebit::quant
