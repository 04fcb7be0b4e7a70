#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// Tensor.view also takes one dtype, to reinterpret the same bytes.
Value view(const Args& a) {
  const Tensor x = a.tensor("input");
  const std::vector<Value>& shape = a["shape"].items();
  const bool as_dtype = shape.size() == 1 && shape[0].is<at::ScalarType>();
  return as_dtype ? x.view(shape[0].dtype()) : x.view(a.ints("shape"));
}

Value transpose(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t first = a.integer("dim0"), second = a.integer("dim1");
  return a.flag("inplace") ? x.transpose_(first, second) : at::transpose(x, first, second);
}

Value squeeze(const Args& a) {
  const Tensor x = a.tensor("input");
  const bool inplace = a.flag("inplace");
  if (a.is_none("dim")) return inplace ? x.squeeze_() : at::squeeze(x);
  const int64_t dim = a.integer("dim");
  return inplace ? x.squeeze_(dim) : at::squeeze(x, dim);
}

Value unsqueeze(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t dim = a.integer("dim");
  return a.flag("inplace") ? x.unsqueeze_(dim) : at::unsqueeze(x, dim);
}

/// at::channel_shuffle has no derivative.
Value channel_shuffle(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t groups = a.integer("groups");
  SPARSEBIT_CHECK(
      x.dim() > 2 && groups > 0 && x.size(1) % groups == 0, InvalidArgument,
      "the channels of an input of 3 or more dims must be divisible by groups=", groups);
  return x.unflatten(1, {groups, x.size(1) / groups}).transpose(1, 2).flatten(1, 2).contiguous();
}

void add_reshapes(OperatorTable& table) {
  table.add({.name = "view",
             .schema = "input, *shape|size",
             .forms = {"Tensor.view"},
             .view = true,
             .kernel = view});
  table.add({.name = "view_as",
             .schema = "input, other",
             .forms = {"Tensor.view_as"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").view_as(a.tensor("other"));
             }});
  table.add({.name = "reshape",
             .schema = "input, *shape",
             .forms = {"torch.reshape", "Tensor.reshape"},
             .view = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::reshape(a.tensor("input"), a.ints("shape"));
             }});
  table.add({.name = "reshape_as",
             .schema = "input, other",
             .forms = {"Tensor.reshape_as"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").reshape_as(a.tensor("other"));
             }});
}

void add_joined_and_split_dims(OperatorTable& table) {
  table.add({.name = "flatten",
             .schema = "input, start_dim=0, end_dim=-1",
             .forms = {"torch.flatten", "Tensor.flatten"},
             .modules = {{.type = "torch.nn.Flatten", .constructor = "start_dim=1, end_dim=-1"}},
             .view = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::flatten(a.tensor("input"), a.integer("start_dim"), a.integer("end_dim"));
             }});
  table.add({.name = "unflatten",
             .schema = "input, dim, unflattened_size|sizes",
             .forms = {"torch.unflatten", "Tensor.unflatten"},
             .modules = {{.type = "torch.nn.Unflatten", .constructor = "dim, unflattened_size"}},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return at::unflatten(a.tensor("input"), a.integer("dim"),
                                    a.ints("unflattened_size"));
             }});
  table.add({.name = "ravel",
             .schema = "input",
             .forms = {"torch.ravel", "Tensor.ravel"},
             .view = true,
             .kernel = [](const Args& a) -> Value { return at::ravel(a.tensor("input")); }});
  table.add({.name = "squeeze",
             .schema = "input, dim|axis=None, *, inplace=False",
             .forms = {"torch.squeeze", "Tensor.squeeze"},
             .inplace = {"Tensor.squeeze_"},
             .view = true,
             .elements = Elements::OfOperands,
             .kernel = squeeze});
  table.add({.name = "unsqueeze",
             .schema = "input, dim|axis, *, inplace=False",
             .forms = {"torch.unsqueeze", "Tensor.unsqueeze"},
             .inplace = {"Tensor.unsqueeze_"},
             .view = true,
             .elements = Elements::OfOperands,
             .kernel = unsqueeze});
}

void add_permutations(OperatorTable& table) {
  table.add({.name = "transpose",
             .schema = "input, dim0|axis0, dim1|axis1, *, inplace=False",
             .forms = {"torch.transpose", "torch.swapaxes", "torch.swapdims", "Tensor.transpose",
                       "Tensor.swapaxes", "Tensor.swapdims"},
             .inplace = {"Tensor.transpose_"},
             .view = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = transpose});
  table.add({.name = "t",
             .schema = "input",
             .forms = {"torch.t", "Tensor.t"},
             .view = true,
             .kernel = [](const Args& a) -> Value { return at::t(a.tensor("input")); }});
  table.add({.name = "permute",
             .schema = "input, *dims",
             .forms = {"torch.permute", "Tensor.permute"},
             .view = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::permute(a.tensor("input"), a.ints("dims"));
             }});
  table.add({.name = "movedim",
             .schema = "input, source, destination",
             .forms = {"torch.movedim", "torch.moveaxis", "Tensor.movedim", "Tensor.moveaxis"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return at::movedim(a.tensor("input"), a.ints("source"), a.ints("destination"));
             }});
}

void add_rearrangements(OperatorTable& table) {
  table.add({.name = "roll",
             .schema = "input, shifts, dims=None",
             .forms = {"torch.roll", "Tensor.roll"},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               const auto dims = a.optional_ints("dims").value_or(std::vector<int64_t>{});
               return at::roll(a.tensor("input"), a.ints("shifts"), dims);
             }});
  table.add({.name = "flip",
             .schema = "input, *dims",
             .forms = {"torch.flip", "Tensor.flip"},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::flip(a.tensor("input"), a.ints("dims"));
             }});
  table.add({.name = "fliplr",
             .schema = "input",
             .forms = {"torch.fliplr", "Tensor.fliplr"},
             .kernel = [](const Args& a) -> Value { return at::fliplr(a.tensor("input")); }});
  table.add({.name = "flipud",
             .schema = "input",
             .forms = {"torch.flipud", "Tensor.flipud"},
             .kernel = [](const Args& a) -> Value { return at::flipud(a.tensor("input")); }});
  table.add({.name = "rot90",
             .schema = "input, k=1, dims=(0, 1)",
             .forms = {"torch.rot90", "Tensor.rot90"},
             .kernel = [](const Args& a) -> Value {
               return at::rot90(a.tensor("input"), a.integer("k"), a.ints("dims"));
             }});
  table.add({.name = "channel_shuffle",
             .schema = "input, groups",
             .forms = {"torch.channel_shuffle", "torch.nn.functional.channel_shuffle"},
             .modules = {{.type = "torch.nn.ChannelShuffle", .constructor = "groups"}},
             .view = true,
             .kernel = channel_shuffle});
}

void add_diagonals(OperatorTable& table) {
  table.add({.name = "diagonal",
             .schema = "input, offset=0, dim1=0, dim2=1",
             .forms = {"torch.diagonal", "Tensor.diagonal"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return at::diagonal(a.tensor("input"), a.integer("offset"), a.integer("dim1"),
                                   a.integer("dim2"));
             }});
  table.add({.name = "diag",
             .schema = "input, diagonal=0",
             .forms = {"torch.diag", "Tensor.diag"},
             .growth = Growth::Product,
             .kernel = [](const Args& a) -> Value {
               return at::diag(a.tensor("input"), a.integer("diagonal"));
             }});
  table.add({.name = "diag_embed",
             .schema = "input, offset=0, dim1=-2, dim2=-1",
             .forms = {"torch.diag_embed", "Tensor.diag_embed"},
             .growth = Growth::Product,
             .kernel = [](const Args& a) -> Value {
               return at::diag_embed(a.tensor("input"), a.integer("offset"), a.integer("dim1"),
                                     a.integer("dim2"));
             }});
}

}  // namespace

void add_shape_operators(OperatorTable& table) {
  add_reshapes(table);
  add_joined_and_split_dims(table);
  add_permutations(table);
  add_rearrangements(table);
  add_diagonals(table);
  // torch.nn.Identity ignores its constructor arguments; `remove` marks one that passes may drop.
  table.add({.name = "identity",
             .schema = "input",
             .modules = {{.type = "torch.nn.Identity",
                          .constructor = "*args=(), remove=True",
                          .descriptive = {"args", "remove"}}},
             .view = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) { return a["input"]; }});
}

}  // namespace sparsebit::fx
