#pragma once

#include "sparsebit/data/model_data.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::data {

/// Looks at what a model is given, batch by batch, for signs of wrong preprocessing.
class InputCheck {
 public:
  /// @param data  whose batches are looked at.
  explicit InputCheck(const ModelData& data);

  void add(const ModelData::Batch& batch);

  /// A sentence for each input that is zero or one number throughout, has most of its numbers at
  /// one bound, is not finite, or has a range that does not fit its mean and std.
  std::vector<std::string> warnings() const;

 private:
  struct Seen {
    double low = 0, high = 0;
    int64_t at_low = 0, at_high = 0, count = 0;  ///< of elements
    bool is_finite = true;
    bool is_normalized = false;  ///< with mean and std, or one that does the same
  };

  void look_at(const at::Tensor& values, Seen& seen) const;

  std::vector<std::string> names_;
  std::vector<Seen> seen_;  // one for each name
};

}  // namespace sparsebit::data
