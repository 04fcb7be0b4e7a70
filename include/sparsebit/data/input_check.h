#pragma once

#include "sparsebit/data/model_data.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::data {

/// Checks the inputs of a model, batch by batch, for signs of wrong preprocessing.
class InputCheck {
 public:
  /// @param data  the data set that the batches are from.
  explicit InputCheck(const ModelData& data);

  void add(const ModelData::Batch& batch);

  /// One sentence for each input that is constant, saturated (most values at one bound), not
  /// finite, or has a range that does not fit its mean and std.
  std::vector<std::string> warnings() const;

 private:
  struct Seen {
    double low = 0, high = 0;
    int64_t at_low = 0, at_high = 0, count = 0;  ///< numbers of elements
    bool is_finite = true;
    bool is_normalized = false;  ///< preprocessing sets mean and std
  };

  void look_at(const at::Tensor& values, Seen& seen) const;

  std::vector<std::string> names_;
  std::vector<Seen> seen_;  // one for each name
};

}  // namespace sparsebit::data
