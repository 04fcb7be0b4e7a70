#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {

void add_sorting_operators(OperatorTable& table) {
  table.add({.name = "sort",
             .schema = "input, dim|axis=-1, descending=False, *, stable=False",
             .forms = {"torch.sort", "Tensor.sort"},
             .kernel = [](const Args& a) {
               return tuple_of(at::sort(a.tensor("input"), c10::optional<bool>(a.flag("stable")),
                                        a.integer("dim"), a.flag("descending")));
             }});
  table.add({.name = "argsort",
             .schema = "input, dim|axis=-1, descending=False, *, stable=False",
             .forms = {"torch.argsort", "Tensor.argsort"},
             .kernel = [](const Args& a) -> Value {
               return at::argsort(a.tensor("input"), /*stable=*/a.flag("stable"), a.integer("dim"),
                                  a.flag("descending"));
             }});
  table.add({.name = "topk",
             .schema = "input, k, dim=-1, largest=True, sorted=True",
             .forms = {"torch.topk", "Tensor.topk"},
             .kernel = [](const Args& a) {
               return tuple_of(at::topk(a.tensor("input"), a.integer("k"), a.integer("dim"),
                                        a.flag("largest"), a.flag("sorted")));
             }});
  table.add({.name = "median",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.median", "Tensor.median"},
             .kernel = [](const Args& a) -> Value {
               const at::Tensor x = a.tensor("input");
               if (a.is_none("dim")) return at::median(x);
               return tuple_of(at::median(x, a.integer("dim"), a.flag("keepdim")));
             }});
  table.add({.name = "searchsorted",
             .schema = "sorted_sequence, input|self, *, out_int32=False, right=False, side=None, "
                       "sorter=None",
             .forms = {"torch.searchsorted"},
             .kernel = [](const Args& a) -> Value {
               const bool right =
                   a.flag("right") || (!a.is_none("side") && a.text("side") == "right");
               const at::Tensor sorted = a.tensor("sorted_sequence");
               const auto sorter = a.optional_tensor("sorter");
               if (a["input"].is_tensor()) {
                 return at::searchsorted(sorted, a.tensor("input"), a.flag("out_int32"), right,
                                         c10::nullopt, sorter);
               }
               return at::searchsorted(sorted, a.scalar("input"), a.flag("out_int32"), right,
                                       c10::nullopt, sorter);
             }});
  table.add({.name = "bucketize",
             .schema = "input, boundaries, *, out_int32=False, right=False",
             .forms = {"torch.bucketize"},
             .kernel = [](const Args& a) -> Value {
               const at::Tensor boundaries = a.tensor("boundaries");
               if (a["input"].is_tensor()) {
                 return at::bucketize(a.tensor("input"), boundaries, a.flag("out_int32"),
                                      a.flag("right"));
               }
               return at::bucketize(a.scalar("input"), boundaries, a.flag("out_int32"),
                                    a.flag("right"));
             }});
}

}  // namespace sparsebit::fx
