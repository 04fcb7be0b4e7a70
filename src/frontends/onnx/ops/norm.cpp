#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <numeric>

namespace sparsebit::frontends {
namespace {

using fx::Value;
using Ints = std::vector<int64_t>;

/// "torch.nn.BatchNorm" and a rank of 4 give "torch.nn.BatchNorm2d"; empty when torch has none.
std::string with_rank(const std::string& type, std::optional<int64_t> rank) {
  if (!rank || *rank < 2 || *rank > 5) return "";
  return type + std::to_string(std::max<int64_t>(*rank - 2, 1)) + "d";
}

bool all_constant(const Conversion& c, std::initializer_list<size_t> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](size_t i) { return c.constant(i); });
}

/// Batch norm in training mode: statistics of the batch, and updated running statistics.
void convert_training_batch_norm(Conversion& c, double eps, double momentum) {
  const auto rank = c.rank(0);
  if (!rank) c.refuse("the rank of its input is not known");
  SPARSEBIT_CHECK(*rank >= 2, InvalidModel, "its input has ", *rank, " axes, expected at least 2");
  Ints dims(static_cast<size_t>(*rank));
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + 1);
  const Value x = c.tensor(0);
  const Value mean = c.function("torch.mean", {x, dims});
  const Value var = c.function("torch.var", {x, dims}, {{"unbiased", false}});
  c.give(0, c.function("torch.nn.functional.batch_norm", {x, mean, var, c.tensor(1), c.tensor(2)},
                       {{"eps", eps}}));
  const auto moved = [&](size_t input, const Value& now) {
    const Value kept = c.function("torch.mul", {c.tensor(input), momentum});
    return c.function("torch.add", {kept, c.function("torch.mul", {now, 1.0 - momentum})});
  };
  if (c.wants_output(1)) c.give(1, moved(3, mean));
  if (c.wants_output(2)) c.give(2, moved(4, var));
}

void convert_batch_norm(Conversion& c) {
  const Attributes& a = c.attributes();
  const double eps = a.number("epsilon", 1e-5), momentum = a.number("momentum", 0.9);
  if (c.opset() < 7) a.ignore("consumed_inputs");
  if (c.opset() < 7 && !a.flag("is_test", false))
    c.refuse("batch statistics (is_test=0) are not supported");
  if (c.opset() < 9 && !a.flag("spatial", true))
    c.refuse("statistics per element (spatial=0) are not supported");
  if (c.opset() >= 14 && a.flag("training_mode", false)) {
    return convert_training_batch_norm(c, eps, momentum);
  }
  const std::string type = with_rank("torch.nn.BatchNorm", c.rank(0));
  if (type.empty() || !all_constant(c, {1, 2, 3, 4})) {
    return c.give(c.function("torch.nn.functional.batch_norm",
                             {c.tensor(0), c.tensor(3), c.tensor(4), c.tensor(1), c.tensor(2)},
                             {{"eps", eps}}));
  }
  const at::Tensor &scale = *c.constant(1), &shift = *c.constant(2);
  const fx::ModuleState state{{{"weight", scale}, {"bias", shift}},
                              {{"running_mean", *c.constant(3)},
                               {"running_var", *c.constant(4)},
                               {"num_batches_tracked", at::zeros({}, at::kLong)}}};
  c.give(c.module(type, {scale.numel()}, {{"eps", eps}, {"momentum", 1.0 - momentum}}, state,
                  {c.tensor(0)}));
}

/// `x` minus its mean, and the inverse of its standard deviation, over the axes `dims`.
struct Statistics {
  Value mean, centred, inverse;
};

Statistics statistics(Conversion& c, const Value& x, const Ints& dims, double eps) {
  const Value mean = c.function("torch.mean", {x, dims, true});
  const Value centred = c.function("torch.sub", {x, mean});
  const Value square = c.function("torch.mul", {centred, centred});
  const Value var = c.function("torch.mean", {square, dims, true});
  return {mean, centred, c.function("torch.rsqrt", {c.function("torch.add", {var, eps})})};
}

/// Whether each channel of an input has a single element, as after global pooling.
bool has_single_elements(const Conversion& c) {
  const auto info = c.info(0);
  return info && info->shape.size() > 2 &&
         std::all_of(info->shape.begin() + 2, info->shape.end(), [](int64_t s) { return s == 1; });
}

/// torch's instance norm rejects channels of a single element; ONNX's formula gives the bias for
/// them.
void convert_instance_norm_by_parts(Conversion& c, double eps) {
  const auto axes = static_cast<size_t>(*c.rank(0) - 2);
  Ints dims, per_channel = {-1};
  for (size_t i = 0; i < axes; ++i) {
    dims.push_back(static_cast<int64_t>(i) + 2);
    per_channel.push_back(1);
  }
  const Statistics s = statistics(c, c.tensor(0), dims, eps);
  const Value scale = c.function("torch.reshape", {c.tensor(1), per_channel});
  const Value shift = c.function("torch.reshape", {c.tensor(2), per_channel});
  const Value y = c.function("torch.mul", {c.function("torch.mul", {s.centred, s.inverse}), scale});
  c.give(c.function("torch.add", {y, shift}));
}

void convert_instance_norm(Conversion& c) {
  const double eps = c.attributes().number("epsilon", 1e-5);
  if (c.opset() < 6) c.attributes().ignore("consumed_inputs");
  if (has_single_elements(c)) return convert_instance_norm_by_parts(c, eps);
  const std::string type = with_rank("torch.nn.InstanceNorm", c.rank(0));
  if (type.empty() || *c.rank(0) < 3 || !all_constant(c, {1, 2})) {
    return c.give(c.function("torch.nn.functional.instance_norm", {c.tensor(0)},
                             {{"weight", c.tensor(1)}, {"bias", c.tensor(2)}, {"eps", eps}}));
  }
  const fx::ModuleState state{
      {{"weight", *c.constant(1)}, {"bias", *c.constant(2)}},
      {{"running_mean", {}}, {"running_var", {}}, {"num_batches_tracked", {}}}};
  c.give(c.module(type, {c.constant(1)->numel()}, {{"eps", eps}, {"affine", true}}, state,
                  {c.tensor(0)}));
}

/// All results of ONNX: the normalized tensor, the mean and the inverse standard deviation.
void convert_layer_norm_by_parts(Conversion& c, int64_t axis, double eps) {
  const auto rank = c.rank(0);
  if (!rank) c.refuse("the rank of its input is not known");
  Ints dims;
  for (int64_t dim = wrap_axis(axis, *rank); dim < *rank; ++dim) dims.push_back(dim);
  const Statistics s = statistics(c, c.tensor(0), dims, eps);
  Value y = c.function("torch.mul", {c.function("torch.mul", {s.centred, s.inverse}), c.tensor(1)});
  if (c.has_input(2)) y = c.function("torch.add", {y, c.tensor(2)});
  c.give(0, y);
  c.give(1, s.mean);
  c.give(2, s.inverse);
}

void convert_layer_norm(Conversion& c) {
  const Attributes& a = c.attributes();
  const int64_t axis = a.integer("axis", -1);
  const double eps = a.number("epsilon", 1e-5);
  if (a.integer("stash_type", 1) != 1)
    c.refuse("statistics of another type than float are not supported");
  const at::Tensor *scale = c.constant(1), *shift = c.constant(2);
  const auto rank = c.rank(0);
  if (rank) wrap_axis(axis, *rank);
  SPARSEBIT_CHECK(axis > -kMostAxes && axis < kMostAxes, InvalidModel, "axis is ", axis);
  const int64_t axes = axis < 0 ? -axis : (rank ? *rank - axis : -1);
  const bool is_layer = scale && (shift || !c.has_input(2)) && scale->dim() == axes &&
                        (!shift || shift->sizes() == scale->sizes()) && !c.wants_output(1) &&
                        !c.wants_output(2);
  if (!is_layer) return convert_layer_norm_by_parts(c, axis, eps);
  const fx::ModuleState state{{{"weight", *scale}, {"bias", shift ? *shift : at::Tensor()}}, {}};
  c.give(
      c.module("torch.nn.LayerNorm", {scale->sizes().vec()}, {{"eps", eps}}, state, {c.tensor(0)}));
}

void convert_group_norm(Conversion& c) {
  const Attributes& a = c.attributes();
  const int64_t groups = a.integer("num_groups");
  const double eps = a.number("epsilon", 1e-5);
  a.ignore("stash_type");
  const at::Tensor *scale = c.constant(1), *shift = c.constant(2);
  SPARSEBIT_CHECK(groups > 0, InvalidModel, "num_groups is ", groups);
  if (!scale || !shift || c.opset() < 21)
    c.refuse("weights that are computed or given per group are not supported");
  const fx::ModuleState state{{{"weight", *scale}, {"bias", *shift}}, {}};
  c.give(c.module("torch.nn.GroupNorm", {groups, scale->numel()}, {{"eps", eps}}, state,
                  {c.tensor(0)}));
}

void convert_lrn(Conversion& c) {
  const Attributes& a = c.attributes();
  const int64_t size = a.integer("size");
  // torch and ONNX put the odd channel of an even window on different sides
  if (size % 2 == 0)
    c.refuse("an even number of channels (size=" + std::to_string(size) + ") is not supported");
  c.give(c.function("torch.nn.functional.local_response_norm", {c.tensor(0), size},
                    {{"alpha", a.number("alpha", 1e-4)},
                     {"beta", a.number("beta", 0.75)},
                     {"k", a.number("bias", 1.0)}}));
}

void convert_lp_norm(Conversion& c) {
  const auto p = static_cast<double>(c.attributes().integer("p", 2));
  c.give(c.function("torch.nn.functional.normalize", {c.tensor(0)},
                    {{"p", p}, {"dim", c.attributes().integer("axis", -1)}}));
}

void convert_mean_variance_norm(Conversion& c) {
  const Ints axes = c.attributes().ints("axes", {0, 2, 3});
  const Value x = c.tensor(0);
  const Value centred = c.function("torch.sub", {x, c.function("torch.mean", {x, axes, true})});
  const Value deviation = c.function(
      "torch.sqrt",
      {c.function("torch.mean", {c.function("torch.mul", {centred, centred}), axes, true})});
  c.give(c.function("torch.div", {centred, c.function("torch.add", {deviation, 1e-9})}));
}

}  // namespace

void add_norm_converters(Converters& r) {
  r.add("BatchNormalization", convert_batch_norm);
  r.add("GroupNormalization", convert_group_norm);
  r.add("InstanceNormalization", convert_instance_norm);
  r.add("LRN", convert_lrn);
  r.add("LayerNormalization", convert_layer_norm);
  r.add("LpNormalization", convert_lp_norm);
  r.add("MeanVarianceNormalization", convert_mean_variance_norm);
}

}  // namespace sparsebit::frontends
