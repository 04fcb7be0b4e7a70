#pragma once

#include "sparsebit/quant/config/qconfig.h"

#include <functional>
#include <string>
#include <vector>

// The table of config keys: which keys a file may have and which setting each one sets.

namespace sparsebit::quant {

/// One key below `W` or `A`.
struct TensorKey {
  std::string path;  ///< "QUANTIZER.BIT"
  bool for_weights;
  bool for_activations;
  std::function<void(TensorConfig&, const Yaml&)> set;
};

const std::vector<TensorKey>& tensor_keys();

/// Sets one key of `W` or `A`, case-insensitive. Throws InvalidArgument, suggesting similar keys,
/// for unknown keys.
void set_tensor_key(TensorConfig& config, Target target, const std::string& key, const Yaml& value);

/// The position of a key in the file, for messages; "" for the position of the whole section.
using PlaceOfKey = std::function<std::string(const std::string& key)>;

/// Throws InvalidArgument, with the position, for settings that are missing or incompatible.
void check_tensor_config(const TensorConfig& config, Target target,
                         const platforms::Platform& platform, const PlaceOfKey& place);

}  // namespace sparsebit::quant
