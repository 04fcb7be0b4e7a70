#include "quant/calibration/batchnorm_tuning.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/passes/fuse/channel_affine.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

namespace sparsebit::quant {
namespace {

using fx::Node;

bool is_batch_norm(const Node& node, const fx::Module& root) {
  const fx::Spelling* spelling = fx::find_spelling(node, root);
  return spelling && spelling->op->name == "batch_norm";
}

/// Folds a batch norm into the layer before it, whose weight is quantized.
class NormFolding {
 public:
  NormFolding(fx::GraphModule& module, const std::vector<QuantPoint>& points, Node& norm)
      : module_(module), norm_(norm), layer_(*norm.inputs().front()) {
    for (const QuantPoint& point : points) {
      const bool is_read = std::find(point.consumers.begin(), point.consumers.end(),
                                     layer_.name()) != point.consumers.end();
      if (point.is_weight() && is_read) point_ = &point;
    }
  }

  /// Why it cannot be folded; nullopt if it can.
  std::optional<Decision> obstacle() {
    const auto because = [&](DecisionKind kind, std::string other = "") {
      return Decision{kind, norm_.name(), std::move(other)};
    };
    if (!point_) return because(DecisionKind::NormWithoutLayer);
    if (!has_channels_of_norm()) return because(DecisionKind::NormOtherChannels);
    if (layer_.users().size() != 1) return because(DecisionKind::NormLayerRead, layer_.name());
    if (!point_->quantizer->is_scale_free()) return because(DecisionKind::NormScaleFixed);
    if (!point_->quantizer->spec().is_per_channel()) return because(DecisionKind::NormOneScale);
    if (point_->consumers.size() != 1 || readers_of_weight() != 1)
      return because(DecisionKind::NormWeightRead, point_->value);
    const std::optional<fx::OperatorCall> call = fx::resolve(norm_, module_);
    affine_ = passes::read_batch_norm(call->args);
    if (!affine_) return because(DecisionKind::NormStatistics);
    if (affine_->factor.numel() != weight().size(axis())) return because(DecisionKind::NormGroups);
    return std::nullopt;
  }

  void fold() {
    scale_weight();
    set_bias();
    norm_.replace_all_uses_with(layer_);
    const std::string path = norm_.target();
    module_.graph().erase(norm_);
    if (!is_called(path)) module_.remove_module(path);
  }

 private:
  /// A norm has its channels on axis 1; the output of a linear layer only if it has two axes.
  bool has_channels_of_norm() const {
    const std::string& op = fx::find_spelling(layer_, module_)->op->name;
    if (op.starts_with("conv")) return true;
    const auto& info = layer_.tensor_info();
    return op == "linear" && info && info->shape.size() == 2;
  }

  const at::Tensor& weight() const { return *module_.find_tensor(point_->value); }
  int64_t axis() const { return point_->quantizer->spec().channel_axis; }

  int64_t readers_of_weight() const {
    int64_t readers = 0;
    for (const Node& node : module_.graph().nodes()) {
      if (node.op() != fx::Opcode::GetAttr) continue;
      const at::Tensor* tensor = module_.find_tensor(node.target());
      if (tensor && tensor->is_same(weight())) readers += std::ssize(node.users());
    }
    return readers;
  }

  /// Multiplies weight and scales by the factors of the norm; the integers of the weight stay.
  void scale_weight() {
    Quantizer& quantizer = *point_->quantizer;
    const QuantSpec& spec = quantizer.spec();
    const at::Tensor before = quantize(weight(), quantizer.qparams(), spec);
    std::vector<int64_t> shape(weight().dim(), 1);
    shape[axis()] = -1;
    const at::Tensor factor = affine_->factor.view(shape);
    const at::Tensor scaled =
        (weight().detach().to(at::kDouble) * factor).to(weight().scalar_type());
    const QParams grid = scaled_grid(quantizer.qparams(), spec);
    quantizer.set_qparams(grid);
    at::Tensor result = with_integers(scaled, factor.lt(0), before, grid, spec);
    module_.set_tensor(point_->value, result.set_requires_grad(weight().requires_grad()));
  }

  /// For negative factors, symmetric integers change sign, so that the zero point stays 0. The
  /// lowest integer has no negative and becomes the highest.
  QParams scaled_grid(const QParams& qparams, const QuantSpec& spec) const {
    const int64_t lowest = spec.is_symmetric() ? -spec.qmax() : spec.qmin();
    at::Tensor factor = affine_->factor;
    if (qparams.scale.dim() == 2) factor = factor.unsqueeze(1);
    const passes::WeightGrid grid = passes::scale_grid(
        {qparams.scale.detach(), qparams.zero_point.detach()}, factor, lowest, spec.qmax());
    return {grid.scale, grid.zero_point};
  }

  /// Replaces weights that float rounding moved to another integer by the exact value of theirs.
  static at::Tensor with_integers(const at::Tensor& weight, const at::Tensor& is_mirrored,
                                  const at::Tensor& before, const QParams& grid,
                                  const QuantSpec& spec) {
    const int64_t ends = spec.is_symmetric() ? 0 : spec.qmin() + spec.qmax();
    const at::Tensor wanted =
        at::where(is_mirrored, ends - before, before).clamp(spec.qmin(), spec.qmax());
    const at::Tensor found = quantize(weight, grid, spec);
    const at::Tensor middle = (wanted - spread_over(grid.zero_point, weight, spec)) *
                              spread_over(grid.scale, weight, spec);
    return at::where(wanted.eq(found), weight, middle.to(weight.scalar_type()));
  }

  void set_bias() {
    const fx::OperatorCall call = *fx::resolve(layer_, module_);
    const fx::Value& given = call.args["bias"];
    at::Tensor bias = affine_->shift;
    bool trained = affine_->trained;
    if (const at::Tensor* old = tensor_of(given)) {
      bias = bias + old->detach().to(at::kDouble) * affine_->factor;
      trained = trained || old->requires_grad();
    }
    bias = bias.to(weight().scalar_type()).set_requires_grad(trained);
    const auto [owner, name] = fx::split_path(point_->value);
    const std::string path = fresh_name(owner);
    module_.find(owner)->add_parameter(fx::split_path(path).second, bias, fx::Grad::AsGiven);
    const fx::Graph::InsertPoint here = module_.graph().inserting_before(layer_);
    Node& read = module_.graph().get_attr(path);
    set_argument(call, "bias", read);
  }

  const at::Tensor* tensor_of(const fx::Value& value) const {
    if (value.is_node()) return module_.find_tensor(value.node().target());
    return value.is_tensor() ? &value.tensor() : nullptr;
  }

  /// The path of the new bias: that of the old one unless it has other consumers.
  std::string fresh_name(const std::string& owner) const {
    const std::string path = owner.empty() ? "bias" : owner + ".bias";
    int64_t readers = 0;
    for (const Node& node : module_.graph().nodes()) {
      if (node.op() == fx::Opcode::GetAttr && node.target() == path)
        readers += std::ssize(node.users());
    }
    return readers <= 1 ? path : path + "_bn";
  }

  void set_argument(const fx::OperatorCall& call, const std::string& name, const fx::Value& value) {
    fx::Kwargs kwargs;
    for (size_t i = 1; i < call.args.values().size(); ++i) {
      const std::string& parameter = call.op->schema.parameters()[i].name;
      kwargs.emplace_back(parameter, parameter == name ? value : call.args.values()[i]);
    }
    layer_.set_call(layer_.op(), layer_.target(), {call.args.values().front()}, std::move(kwargs));
  }

  bool is_called(const std::string& path) const {
    const auto& nodes = module_.graph().nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return node.op() == fx::Opcode::CallModule && node.target() == path;
    });
  }

  fx::GraphModule& module_;
  Node& norm_;
  Node& layer_;
  const QuantPoint* point_ = nullptr;
  std::optional<passes::ChannelAffine> affine_;
};

}  // namespace

BatchNormTuning::BatchNormTuning(fx::GraphModule& module, const std::vector<QuantPoint>& points)
    : module_(module), points_(points), quantizers_(points) {
  std::set<fx::Module*> known;
  for (const Node& node : module.graph().nodes()) {
    if (node.op() != fx::Opcode::CallModule || !is_batch_norm(node, module)) continue;
    const fx::ModulePtr norm = module.find_module(node.target());
    if (known.insert(norm.get()).second && norm->own_buffers().contains("running_mean"))
      start(norm);
  }
  SPARSEBIT_CHECK(!norms_.empty(), InvalidArgument,
                  "there is no batch norm to tune: the model has none, or they were folded because "
                  "SCHEDULE.BN_TUNING is not set");
}

void BatchNormTuning::start(const fx::ModulePtr& module) {
  Norm norm{module, module->is_training(), module->attribute("momentum"), {}};
  for (const auto& item : module->own_buffers()) norm.statistics.emplace_back(item.key(), *item);
  norms_.push_back(norm);
  for (const auto& [name, tensor] : norm.statistics) {
    module->add_buffer(name,
                       name == "running_var" ? at::ones_like(tensor) : at::zeros_like(tensor));
  }
  module->set_attribute("momentum", fx::None());  // None: cumulative average over batches
  module->set_training(true);
}

BatchNormTuning::~BatchNormTuning() {
  if (folded_) return;
  end_gathering();
  for (const Norm& norm : norms_) {
    for (const auto& [name, tensor] : norm.statistics) norm.module->add_buffer(name, tensor);
  }
}

void BatchNormTuning::end_gathering() {
  for (const Norm& norm : norms_) {
    norm.module->set_attribute("momentum", norm.momentum);
    norm.module->set_training(norm.training);
  }
}

void BatchNormTuning::check_data() const {
  for (const Norm& norm : norms_) {
    const at::Tensor* batches = norm.module->find_tensor("num_batches_tracked");
    SPARSEBIT_CHECK(!batches || batches->item<int64_t>() > 0, InvalidArgument,
                    "a batch norm saw no data: call forward() with batches while tuning");
  }
}

std::vector<Decision> BatchNormTuning::fold() {
  check_data();
  end_gathering();
  std::vector<Node*> calls;
  for (Node& node : module_.graph().nodes()) {
    if (is_batch_norm(node, module_)) calls.push_back(&node);
  }
  std::vector<Decision> left;
  std::vector<NormFolding> possible;  // checked before anything changes
  for (Node* norm : calls) {
    NormFolding folding(module_, points_, *norm);
    if (std::optional<Decision> obstacle = folding.obstacle()) {
      left.push_back(std::move(*obstacle));
    } else {
      possible.push_back(std::move(folding));
    }
  }
  folded_ = true;
  quantizers_.dismiss();
  const at::NoGradGuard no_gradients;
  for (NormFolding& folding : possible) folding.fold();
  return left;
}

}  // namespace sparsebit::quant
