#pragma once

#include "quant/quantizers/quantizers_as_before.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quant_point.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// While this object exists, the batch norms of a quantized model are in training mode and gather
/// new statistics. The destructor restores the norms and the enabled quantizers, unless fold() was
/// called.
class BatchNormTuning {
 public:
  /// @param module  must outlive this object, as must `points`, its quantizers.
  BatchNormTuning(fx::GraphModule& module, const std::vector<QuantPoint>& points);
  ~BatchNormTuning();
  BatchNormTuning(const BatchNormTuning&) = delete;
  BatchNormTuning& operator=(const BatchNormTuning&) = delete;

  /// Folds the norms into the layers before them. Returns the norms that cannot be folded, which
  /// keep the new statistics. Throws InvalidArgument if a norm saw no data.
  std::vector<Decision> fold();

 private:
  /// The original state of a batch norm.
  struct Norm {
    fx::ModulePtr module;
    bool training;
    fx::Value momentum;
    std::vector<std::pair<std::string, at::Tensor>> statistics;
  };

  void start(const fx::ModulePtr& module);
  void check_data() const;
  void end_gathering();

  fx::GraphModule& module_;
  const std::vector<QuantPoint>& points_;
  std::vector<Norm> norms_;
  QuantizersAsBefore quantizers_;
  bool folded_ = false;
};

}  // namespace sparsebit::quant
