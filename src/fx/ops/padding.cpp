#include "fx/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

/// Pad modules know how many axes they pad (`spatial_dims`), so one int stands for all sides.
Value pad(const Args& a) {
  const auto spatial = a.optional_integer("spatial_dims");
  const std::vector<int64_t> amounts =
      spatial ? a.ints("padding", static_cast<size_t>(2 * *spatial)) : a.ints("padding");
  return at::pad(a.tensor("input"), amounts, a.text("mode"), a.optional_number("value"));
}

ModuleForm pad_module(const char* type, const char* mode, int spatial_dims) {
  return {.type = type,
          .constructor = "padding",
          .preset = {{"mode", mode}, {"spatial_dims", spatial_dims}}};
}

ModuleForm constant_pad(const char* type, int spatial_dims) {
  return {.type = type,
          .constructor = "padding, value",
          .preset = {{"mode", "constant"}, {"spatial_dims", spatial_dims}}};
}

}  // namespace

void add_padding_operators(OperatorTable& table) {
  table.add({.name = "pad",
             .schema = "input, padding|pad, mode='constant', value=None, spatial_dims=None",
             .forms = {"torch.nn.functional.pad"},
             .modules = {constant_pad("torch.nn.ConstantPad1d", 1),
                         constant_pad("torch.nn.ConstantPad2d", 2),
                         constant_pad("torch.nn.ConstantPad3d", 3),
                         pad_module("torch.nn.ZeroPad2d", "constant", 2),
                         pad_module("torch.nn.ReflectionPad1d", "reflect", 1),
                         pad_module("torch.nn.ReflectionPad2d", "reflect", 2),
                         pad_module("torch.nn.ReflectionPad3d", "reflect", 3),
                         pad_module("torch.nn.ReplicationPad1d", "replicate", 1),
                         pad_module("torch.nn.ReplicationPad2d", "replicate", 2),
                         pad_module("torch.nn.ReplicationPad3d", "replicate", 3)},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .kernel = pad});
}

}  // namespace sparsebit::fx
