#pragma once

#include "deploy/json_text.h"

#include "sparsebit/deploy/deploy_model.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Qualcomm's quantization overrides: a list of encodings for each tensor, one per channel.
struct Encoding {
  int bits = 0;
  double min = 0, max = 0;
  // Only in QNN's files:
  double scale = 0;
  int64_t offset = 0;  ///< qmin minus the zero point: min is offset * scale
  bool is_symmetric = false;

  bool operator==(const Encoding&) const = default;
};

struct Encodings {
  std::map<std::string, std::vector<Encoding>> activations, params;  ///< by tensor
};

/// The encodings of a range, one per channel.
std::vector<Encoding> encodings_of(const TensorRange& range);

/// `{"activation_encodings": ..., "param_encodings": ...}`
template <class ToJson>
Json encodings_json(const std::vector<TensorRange>& ranges, const ToJson& to_json) {
  Json activations = Json::object(), params = Json::object();
  for (const TensorRange& range : ranges) {
    Json list = Json::array();
    for (const Encoding& encoding : encodings_of(range)) list.push_back(to_json(encoding));
    (range.kind == TensorKind::Weight ? params : activations)[range.tensor] = list;
  }
  return {{"activation_encodings", activations}, {"param_encodings", params}};
}

template <class FromJson>
Encodings read_encodings(const View& json, const FromJson& from_json) {
  Encodings found;
  for (auto [key, into] : {std::pair{"activation_encodings", &found.activations},
                           std::pair{"param_encodings", &found.params}}) {
    for (const auto& [tensor, list] : json[key].entries()) {
      for (const View& encoding : list.items()) (*into)[tensor].push_back(from_json(encoding));
    }
  }
  return found;
}

}  // namespace sparsebit::deploy
