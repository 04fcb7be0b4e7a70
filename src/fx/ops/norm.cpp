#include "fx/ops/families.h"
#include "fx/ops/module_state.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

at::Tensor input_with_rank_from(int64_t rank, const Args& a) {
  const at::Tensor x = a.tensor("input");
  SPARSEBIT_CHECK(x.dim() >= rank, InvalidArgument, "expected an input of at least ", rank,
                  " dimensions, got ", x.dim());
  return x;
}

int64_t values_per_channel(const at::Tensor& x) {
  return x.size(0) * c10::multiply_integers(x.sizes().slice(2));
}

/// One value per channel has no variance; ATen would quietly return zeros.
void check_several_values(const char* what, int64_t count, const at::Tensor& x) {
  SPARSEBIT_CHECK(count != 1, InvalidArgument, "expected more than 1 ", what,
                  " when training, got input size ", x.sizes());
}

/// Modules fix the number of spatial axes (`spatial_dims`); functions take any rank.
///
/// @param one_less  whether one axis fewer is fine too.
void check_rank(const Args& a, const at::Tensor& x, bool one_less) {
  const auto spatial = a.optional_integer("spatial_dims");
  if (!spatial) return;
  const int64_t full = *spatial + 2;
  SPARSEBIT_CHECK(x.dim() == full || (one_less && x.dim() == full - 1), InvalidArgument,
                  "expected ", one_less ? c10::str(full - 1, "-D or ") : std::string(), full,
                  "-D input, got ", x.dim(), "-D");
}

/// The weight of a batch's statistics in the running ones.
double statistics_factor(const Args& a, bool update) {
  const auto momentum = a.optional_number("momentum");
  if (momentum || !update || a.is_none("num_batches_tracked")) return momentum.value_or(0.0);
  return 1.0 / (a.tensor("num_batches_tracked").item<double>() + 1);  // plain average over batches
}

/// `track_running_stats` is none in a function call, where `training` is taken as it is. In a
/// module, missing statistics mean batch statistics in either mode.
Value batch_norm(const Args& a) {
  const at::Tensor x = input_with_rank_from(2, a);
  check_rank(a, x, /*one_less=*/a["spatial_dims"] == Value(1));
  const bool in_module = !a.is_none("track_running_stats");
  const bool update = a.flag("training") && (!in_module || a.flag("track_running_stats"));
  const bool no_statistics = a.is_none("running_mean") && a.is_none("running_var");
  const bool use_batch = a.flag("training") || (in_module && no_statistics);
  const bool use_running = !a.flag("training") || update;
  if (use_batch) check_several_values("value per channel", values_per_channel(x), x);
  const c10::optional<at::Tensor> none;
  const at::Tensor y = at::batch_norm(x, a.optional_tensor("weight"), a.optional_tensor("bias"),
                                      use_running ? a.optional_tensor("running_mean") : none,
                                      use_running ? a.optional_tensor("running_var") : none,
                                      use_batch, statistics_factor(a, update), a.number("eps"),
                                      at::globalContext().userEnabledCuDNN());
  if (update && !a.is_none("num_batches_tracked")) a.tensor("num_batches_tracked").add_(1);
  return y;
}

Value instance_norm(const Args& a) {
  at::Tensor x = input_with_rank_from(2, a);
  check_rank(a, x, /*one_less=*/true);
  const auto spatial = a.optional_integer("spatial_dims");
  const bool unbatched = spatial && x.dim() == *spatial + 1;
  if (unbatched) x = x.unsqueeze(0);
  const bool in_module = !a.is_none("track_running_stats");
  const bool use_input =
      in_module ? a.flag("training") || !a.flag("track_running_stats") : a.flag("use_input_stats");
  if (use_input)
    check_several_values("spatial element", c10::multiply_integers(x.sizes().slice(2)), x);
  const at::Tensor y = at::instance_norm(
      x, a.optional_tensor("weight"), a.optional_tensor("bias"), a.optional_tensor("running_mean"),
      a.optional_tensor("running_var"), use_input, a.optional_number("momentum").value_or(0.0),
      a.number("eps"), at::globalContext().userEnabledCuDNN());
  return unbatched ? y.squeeze(0) : y;
}

Value group_norm(const Args& a) {
  const at::Tensor x = input_with_rank_from(2, a);
  const int64_t groups = a.integer("num_groups");
  SPARSEBIT_CHECK(groups > 0, InvalidArgument, "num_groups must be positive, got ", groups);
  check_several_values("value per channel", x.numel() / groups, x);
  return at::group_norm(x, groups, a.optional_tensor("weight"), a.optional_tensor("bias"),
                        a.number("eps"), at::globalContext().userEnabledCuDNN());
}

Value local_response_norm(const Args& a) {
  const at::Tensor x = input_with_rank_from(3, a);
  const int64_t size = a.integer("size"), before = size / 2, after = (size - 1) / 2;
  if (x.numel() == 0) return x;
  at::Tensor squares = x.mul(x);
  if (x.dim() == 3) {
    squares = at::constant_pad_nd(squares.unsqueeze(1), {0, 0, before, after});
    squares = at::avg_pool2d(squares, {size, 1}, 1).squeeze(1);
  } else {  // all axes after the third are merged
    squares = squares.view({x.size(0), 1, x.size(1), x.size(2), -1});
    squares = at::constant_pad_nd(squares, {0, 0, 0, 0, before, after});
    squares = at::avg_pool3d(squares, {size, 1, 1}, 1).squeeze(1).view(x.sizes());
  }
  return x / squares.mul(a.scalar("alpha")).add(a.scalar("k")).pow(a.scalar("beta"));
}

ModuleState running_state(const Args& a, const MaybeGenerator&) {
  const int64_t features = a.integer("num_features");
  ModuleState state{scale_and_shift({features}, a.flag("affine")),
                    {{"running_mean", {}}, {"running_var", {}}, {"num_batches_tracked", {}}}};
  if (a.flag("track_running_stats")) {
    state.buffers[0].second = at::zeros({features});
    state.buffers[1].second = at::ones({features});
    state.buffers[2].second = at::zeros({}, at::kLong);
  }
  return state;
}

constexpr const char* kBatchNorm =
    "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True";
constexpr const char* kInstanceNorm =
    "num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False";

ModuleForm running_norm(const char* type, const char* constructor, int spatial_dims) {
  return {.type = type,
          .constructor = constructor,
          .init = running_state,
          .descriptive = {"num_features", "affine"},
          .preset = {{"spatial_dims", spatial_dims}}};
}

void add_running_norms(OperatorTable& table) {
  table.add({.name = "batch_norm",
             .schema =
                 "input, running_mean, running_var, weight=None, bias=None, training=False, "
                 "momentum=0.1, eps=1e-05, num_batches_tracked=None, track_running_stats=None, "
                 "spatial_dims=None",
             .forms = {"torch.nn.functional.batch_norm",
                       {"torch.batch_norm",
                        "input, weight, bias, running_mean, running_var, training, "
                        "momentum, eps, _cudnn_enabled"}},
             .modules = {running_norm("torch.nn.BatchNorm1d", kBatchNorm, 1),
                         running_norm("torch.nn.BatchNorm2d", kBatchNorm, 2),
                         running_norm("torch.nn.BatchNorm3d", kBatchNorm, 3),
                         {.type = "torch.nn.SyncBatchNorm",
                          .constructor = "num_features, eps=1e-05, momentum=0.1, affine=True, "
                                         "track_running_stats=True, process_group=None",
                          .init = running_state,
                          .descriptive = {"num_features", "affine", "process_group"}}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = batch_norm});
  table.add({.name = "instance_norm",
             .schema = "input, running_mean=None, running_var=None, weight=None, bias=None, "
                       "use_input_stats=True, momentum=0.1, eps=1e-05, training=False, "
                       "track_running_stats=None, spatial_dims=None",
             .forms = {"torch.nn.functional.instance_norm",
                       {"torch.instance_norm",
                        "input, weight, bias, running_mean, running_var, use_input_stats, "
                        "momentum, eps, _cudnn_enabled"}},
             .modules = {running_norm("torch.nn.InstanceNorm1d", kInstanceNorm, 1),
                         running_norm("torch.nn.InstanceNorm2d", kInstanceNorm, 2),
                         running_norm("torch.nn.InstanceNorm3d", kInstanceNorm, 3)},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = instance_norm});
}

}  // namespace

void add_norm_operators(OperatorTable& table) {
  add_running_norms(table);
  table.add({.name = "layer_norm",
             .schema = "input, normalized_shape, weight=None, bias=None, eps=1e-05",
             .forms = {"torch.nn.functional.layer_norm",
                       {"torch.layer_norm",
                        "input, normalized_shape, weight=None, bias=None, "
                        "eps=1e-05, _cudnn_enable=True"}},
             .modules = {{.type = "torch.nn.LayerNorm",
                          .constructor = "normalized_shape, eps=1e-05, elementwise_affine=True",
                          .init =
                              [](const Args& a, auto) {
                                return ModuleState{scale_and_shift(a.ints("normalized_shape"),
                                                                   a.flag("elementwise_affine")),
                                                   {}};
                              },
                          .descriptive = {"elementwise_affine"}}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value {
               return at::layer_norm(a.tensor("input"), a.ints("normalized_shape"),
                                     a.optional_tensor("weight"), a.optional_tensor("bias"),
                                     a.number("eps"), at::globalContext().userEnabledCuDNN());
             }});
  table.add({.name = "group_norm",
             .schema = "input, num_groups, weight=None, bias=None, eps=1e-05",
             .forms = {"torch.nn.functional.group_norm",
                       {"torch.group_norm",
                        "input, num_groups, weight=None, bias=None, eps=1e-05, "
                        "_cudnn_enabled=True"}},
             .modules = {{.type = "torch.nn.GroupNorm",
                          .constructor = "num_groups, num_channels, eps=1e-05, affine=True",
                          .init =
                              [](const Args& a, auto) {
                                return ModuleState{
                                    scale_and_shift({a.integer("num_channels")}, a.flag("affine")),
                                    {}};
                              },
                          .descriptive = {"num_channels", "affine"}}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = group_norm});
  table.add({.name = "local_response_norm",
             .schema = "input, size, alpha=0.0001, beta=0.75, k=1.0",
             .forms = {"torch.nn.functional.local_response_norm"},
             .modules = {{.type = "torch.nn.LocalResponseNorm",
                          .constructor = "size, alpha=0.0001, beta=0.75, k=1.0"}},
             .kernel = local_response_norm});
}

}  // namespace sparsebit::fx
