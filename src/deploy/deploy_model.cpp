#include "sparsebit/deploy/deploy_model.h"

#include "deploy/clean_onnx.h"
#include "deploy/find_ranges.h"

#include "sparsebit/export/quantized_onnx.h"

#include <optional>

namespace sparsebit::deploy {

struct DeployModel::Made {
  exports::NamedOnnx clean;
  std::optional<std::vector<TensorRange>> ranges = {};
};

DeployModel::DeployModel(const quant::QuantModel& model, std::string name)
    : model_(model), name_(std::move(name)) {
  exports::check_calibrated(model);
}

DeployModel::~DeployModel() = default;

DeployModel::Made& DeployModel::made() const {
  if (!made_) made_ = std::make_unique<Made>(Made{clean_onnx(model_)});
  return *made_;
}

const onnx::ModelProto& DeployModel::clean() const { return made().clean.model; }

const std::vector<TensorRange>& DeployModel::ranges() const {
  Made& made = this->made();
  if (!made.ranges) made.ranges = find_ranges(model_, made.clean);
  return *made.ranges;
}

}  // namespace sparsebit::deploy
