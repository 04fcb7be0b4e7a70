#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/python_value.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <array>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// `torch.channels_last` is a string in a graph, since a Value cannot hold a memory format.
c10::optional<at::MemoryFormat> memory_format(const Args& a) {
  if (a.is_none("memory_format")) return c10::nullopt;
  const std::string name = a.text("memory_format");
  if (name == "torch.contiguous_format") return at::MemoryFormat::Contiguous;
  if (name == "torch.channels_last") return at::MemoryFormat::ChannelsLast;
  if (name == "torch.channels_last_3d") return at::MemoryFormat::ChannelsLast3d;
  if (name == "torch.preserve_format") return at::MemoryFormat::Preserve;
  throw Error(ErrorKind::InvalidArgument,
              c10::str("unknown memory format '", name,
                       "'; known: torch.contiguous_format, torch.channels_last, "
                       "torch.channels_last_3d, torch.preserve_format"));
}

/// The arguments of Tensor.to after its overloads are resolved.
struct Target {
  c10::optional<at::ScalarType> dtype;
  c10::optional<at::Device> device;
  std::vector<bool> flags = {};  ///< non_blocking, copy

  void take(const Value& value) {
    if (value.is_tensor()) {
      dtype = value.tensor().scalar_type();
      device = value.tensor().device();
    } else if (value.is<at::ScalarType>()) {
      dtype = value.dtype();
    } else if (value.is_bool()) {
      flags.push_back(value.to_bool());
    } else if (!value.is_none()) {
      device = value.device();
    }
  }
  bool flag(size_t index) const { return index < flags.size() && flags[index]; }
};

Value to(const Args& a) {
  const Tensor x = a.tensor("input");
  Target target;
  for (const Value& value : a["target"].items()) target.take(value);
  target.take(a["other"]);
  target.take(a["device"]);
  target.take(a["dtype"]);
  at::TensorOptions options = x.options();
  if (target.dtype) options = options.dtype(*target.dtype);
  if (target.device) options = options.device(*target.device);
  return x.to(options, a.flag("non_blocking") || target.flag(0), a.flag("copy") || target.flag(1),
              memory_format(a));
}

/// The legacy names of dtypes, which Tensor.type takes and returns.
constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kTypeNames = {{
    {"torch.FloatTensor", at::kFloat},
    {"torch.DoubleTensor", at::kDouble},
    {"torch.HalfTensor", at::kHalf},
    {"torch.BFloat16Tensor", at::kBFloat16},
    {"torch.LongTensor", at::kLong},
    {"torch.IntTensor", at::kInt},
    {"torch.ShortTensor", at::kShort},
    {"torch.CharTensor", at::kChar},
    {"torch.ByteTensor", at::kByte},
    {"torch.BoolTensor", at::kBool},
}};

Value type(const Args& a) {
  const Tensor x = a.tensor("input");
  const Value& wanted = a["dtype"];
  if (wanted.is<at::ScalarType>()) return x.to(wanted.dtype());
  for (const auto& [name, dtype] : kTypeNames) {
    if (wanted.is_none() && dtype == x.scalar_type()) return name;
    if (wanted.is_string() && wanted.string() == name) return x.to(dtype);
  }
  throw Error(ErrorKind::InvalidArgument,
              {.what = "unknown tensor type",
               .expected = "a dtype or a name such as 'torch.FloatTensor'",
               .found = describe(wanted)});
}

/// `Tensor.float()` and similar methods: `to` with the dtype in the name.
Form shorthand(const char* spelling, at::ScalarType dtype) {
  return {spelling, "input, *, memory_format=None", {{"dtype", dtype}}};
}

void add_conversions(OperatorTable& table) {
  table.add({.name = "to",
             .schema =
                 "input, *target=(), other=None, device=None, dtype=None, non_blocking=False, "
                 "copy=False, memory_format=None",
             .forms = {"Tensor.to",
                       shorthand("Tensor.float", at::kFloat),
                       shorthand("Tensor.double", at::kDouble),
                       shorthand("Tensor.half", at::kHalf),
                       shorthand("Tensor.bfloat16", at::kBFloat16),
                       shorthand("Tensor.int", at::kInt),
                       shorthand("Tensor.long", at::kLong),
                       shorthand("Tensor.short", at::kShort),
                       shorthand("Tensor.char", at::kChar),
                       shorthand("Tensor.byte", at::kByte),
                       shorthand("Tensor.bool", at::kBool),
                       {"Tensor.type_as", "input, other"},
                       {"Tensor.cpu",
                        "input, *, memory_format=None",
                        {{"device", at::Device(at::kCPU)}}}},
             .view = true,
             .kernel = to});
  table.add({.name = "type",
             .schema = "input, dtype=None, non_blocking=False",
             .forms = {"Tensor.type"},
             .view = true,
             .kernel = type});
}

void add_copies(OperatorTable& table) {
  table.add({.name = "clone",
             .schema = "input, *, memory_format=None",
             .forms = {"torch.clone", "Tensor.clone"},
             .kernel = [](const Args& a) -> Value {
               return at::clone(a.tensor("input"), memory_format(a));
             }});
  table.add({.name = "contiguous",
             .schema = "input, memory_format=None",
             .forms = {"Tensor.contiguous"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").contiguous(
                   memory_format(a).value_or(at::MemoryFormat::Contiguous));
             }});
  table.add({.name = "detach",
             .schema = "input, *, inplace=False",
             .forms = {"torch.detach", "Tensor.detach"},
             .inplace = {"torch.detach_", "Tensor.detach_"},
             .view = true,
             .kernel = unary([](const Tensor& x) { return at::detach(x); },
                             [](Tensor& x) { return at::detach_(x); })});
  table.add({.name = "requires_grad",
             .schema = "input, requires_grad=True",
             .forms = {"Tensor.requires_grad_"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").requires_grad_(a.flag("requires_grad"));
             }});
  table.add(
      {.name = "item", .schema = "input", .forms = {"Tensor.item"}, .kernel = [](const Args& a) {
         return python::from_scalar(a.tensor("input").item());
       }});
}

}  // namespace

void add_cast_operators(OperatorTable& table) {
  add_conversions(table);
  add_copies(table);
}

}  // namespace sparsebit::fx
