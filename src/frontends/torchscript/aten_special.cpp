#include "frontends/torchscript/aten.h"
#include "frontends/torchscript/aten_rules.h"
#include "sparsebit/core/error.h"

#include <limits>
#include <map>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;

using Result = std::optional<ScriptValues>;

Value list_of(size_t count, int64_t value) {
  return fx::List(std::vector<Value>(count, Value(value)));
}

/// `x[..., start:end:step, ...]`; a slice of the whole axis makes no node.
Result slice(GraphBuilder& b, const AtenCall& call) {
  const Value self = call.has("self") ? call["self"] : call["l"];
  const Value dim = call.has("dim") ? call["dim"] : Value(0);
  SPARSEBIT_CHECK(dim.is_int(), DataDependent, "the dimension of a slice depends on data");
  const auto bound = [](Value value, int64_t neutral) {
    return value.is_int() && value.get<int64_t>() == neutral ? Value() : value;
  };
  const Value start = bound(call["start"], 0);
  const Value end = bound(call["end"], std::numeric_limits<int64_t>::max());
  const Value step = bound(call["step"], 1);
  if (start.is_none() && end.is_none() && step.is_none() && call.has("self"))
    return ScriptValues{self};
  return ScriptValues{b.getitem(self, index_of_axis(dim.to_int(), fx::Slice(start, end, step)))};
}

/// `x[i, :, j]`: None stands for a whole axis.
Result index(GraphBuilder& b, const AtenCall& call) {
  const Value indices = call["indices"];
  SPARSEBIT_CHECK(indices.is_sequence(), DataDependent, "the indices of a tensor depend on data");
  std::vector<Value> items;
  for (const Value& item : indices.items())
    items.push_back(item.is_none() ? Value(fx::Slice()) : item);
  if (items.size() == 1) return ScriptValues{b.getitem(call["self"], items[0])};
  return ScriptValues{b.getitem(call["self"], fx::Tuple(std::move(items)))};
}

/// `x[...] = value`
Result overwrite(GraphBuilder& b, const AtenCall& call) {
  const Value source = call.has("src") ? call["src"] : call.has("value") ? call["value"] : Value(0);
  b.function("operator.setitem", {call["self"], fx::Ellipsis(), source});
  return ScriptValues{call["self"]};
}

std::string convolution_target(const char* base, size_t spatial) {
  return "torch." + std::string(base) + std::to_string(spatial) + "d";
}

void add_unless(Kwargs& kwargs, const char* name, const Value& value, const Value& neutral) {
  const bool is_neutral =
      value.same_as(neutral) || (value.is_sequence() && neutral.is_sequence() &&
                                 !value.contains_node() && value.ints() == neutral.ints());
  if (!is_neutral) kwargs.emplace_back(name, value);
}

Result convolution(GraphBuilder& b, const AtenCall& call) {
  const Value stride = call["stride"];
  SPARSEBIT_CHECK(stride.is_sequence(), DataDependent,
                  "the stride of a convolution depends on data");
  const size_t n = stride.items().size();
  const Value transposed = call["transposed"];
  std::vector<Value> args = {call["input"], call["weight"], call["bias"]};
  Kwargs kwargs;
  add_unless(kwargs, "stride", stride, list_of(n, 1));
  add_unless(kwargs, "padding", call["padding"], list_of(n, 0));
  add_unless(kwargs, "dilation", call["dilation"], list_of(n, 1));
  add_unless(kwargs, "groups", call["groups"], 1);
  const bool up = transposed.is_bool() && transposed.get<bool>();
  if (up) add_unless(kwargs, "output_padding", call["output_padding"], list_of(n, 0));
  const std::string target = convolution_target(up ? "conv_transpose" : "conv", n);
  return ScriptValues{b.function(target, std::move(args), std::move(kwargs))};
}

Result embedding(GraphBuilder& b, const AtenCall& call) {
  Kwargs kwargs;
  add_unless(kwargs, "padding_idx", call["padding_idx"], -1);
  add_unless(kwargs, "scale_grad_by_freq", call["scale_grad_by_freq"], false);
  add_unless(kwargs, "sparse", call["sparse"], false);
  return ScriptValues{
      b.function("torch.nn.functional.embedding", {call["indices"], call["weight"]}, kwargs)};
}

Result embedding_bag(GraphBuilder& b, const AtenCall& call) {
  static const char* const modes[] = {"sum", "mean", "max"};
  const int64_t mode = call["mode"].to_int();
  SPARSEBIT_CHECK(mode >= 0 && mode < 3, InvalidModel, "embedding_bag has no mode ", mode);
  Kwargs kwargs = {{"mode", modes[mode]}};
  add_unless(kwargs, "scale_grad_by_freq", call["scale_grad_by_freq"], false);
  add_unless(kwargs, "sparse", call["sparse"], false);
  add_unless(kwargs, "per_sample_weights", call["per_sample_weights"], {});
  add_unless(kwargs, "include_last_offset", call["include_last_offset"], false);
  add_unless(kwargs, "padding_idx", call["padding_idx"], {});
  ScriptValues out(call.outputs);
  out[0] = b.function("torch.nn.functional.embedding_bag",
                      {call["indices"], call["weight"], call["offsets"]}, kwargs);
  return out;
}

Result to(GraphBuilder& b, const AtenCall& call) {
  Kwargs kwargs;
  for (const char* name : {"other", "device", "dtype", "memory_format"})
    add_unless(kwargs, name, call[name], {});
  add_unless(kwargs, "copy", call.has("copy") ? call["copy"] : Value(false), false);
  if (kwargs.empty()) return ScriptValues{call["self"]};
  return ScriptValues{b.method("to", {call["self"]}, std::move(kwargs))};
}

Result larger_or_smaller(GraphBuilder& b, const AtenCall& call) {
  if (!call.has("other") || !call.has("self")) return std::nullopt;
  const char* target = call.name == "max" ? "torch.maximum" : "torch.minimum";
  return ScriptValues{b.function(target, {call["self"], call["other"]})};
}

Result pad_with(GraphBuilder& b, const AtenCall& call, const char* mode) {
  return ScriptValues{
      b.function("torch.nn.functional.pad", {call["self"], call["padding"]}, {{"mode", mode}})};
}

Result reflection_pad(GraphBuilder& b, const AtenCall& call) {
  return pad_with(b, call, "reflect");
}

Result replication_pad(GraphBuilder& b, const AtenCall& call) {
  return pad_with(b, call, "replicate");
}

Result constant_pad(GraphBuilder& b, const AtenCall& call) {
  Kwargs kwargs;
  add_unless(kwargs, "value", call["value"], 0);
  return ScriptValues{b.function("torch.nn.functional.pad", {call["self"], call["pad"]}, kwargs)};
}

Result attribute(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("getattr", {call.args.at(0).value, call.name})};
}

Result adaptive_max_pool(GraphBuilder& b, const AtenCall& call) {
  const Value both = b.function("torch.nn.functional." + call.name,
                                {call["self"], call["output_size"]}, {{"return_indices", true}});
  return ScriptValues{b.getitem(both, 0), b.getitem(both, 1)};
}

Result in_order(GraphBuilder& b, const AtenCall& call) {
  const Value result = b.function("torch." + call.name, call.values());
  if (call.outputs == 1) return ScriptValues{result};
  ScriptValues out;
  for (size_t i = 0; i < call.outputs; ++i) out.push_back(b.getitem(result, int64_t(i)));
  return out;
}

Result same(GraphBuilder&, const AtenCall& call) { return ScriptValues{call.args.at(0).value}; }

/// The number in a tensor of one element.
Result number_of(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.method("item", {call.args.at(0).value})};
}

Value slice_of_axis(GraphBuilder& b, const Value& x, const Value& dim, const Value& start,
                    const Value& end) {
  const AtenCall call{
      .name = "slice",
      .args = {{"self", x}, {"dim", dim}, {"start", start}, {"end", end}, {"step", 1}}};
  return slice(b, call)->front().value();
}

/// x[1:] - x[:-1]
Result differences(GraphBuilder& b, const AtenCall& call) {
  const Value n = call["n"], dim = call["dim"];
  if (!n.is_int() || n.to_int() < 1 || n.to_int() > 16) return std::nullopt;
  std::vector<Value> parts = {call["self"]};
  if (!call["prepend"].is_none()) parts.insert(parts.begin(), call["prepend"]);
  if (!call["append"].is_none()) parts.push_back(call["append"]);
  Value x = call["self"];
  if (parts.size() > 1) x = b.function("torch.cat", {fx::List(parts)}, {{"dim", dim}});
  for (int64_t i = 0; i < n.to_int(); ++i) {
    const Value behind = slice_of_axis(b, x, dim, 1, Value());
    x = b.function("torch.sub", {behind, slice_of_axis(b, x, dim, Value(), -1)});
  }
  return ScriptValues{x};
}

/// im2col and col2im are torch's unfold and fold.
Result sliding_blocks(GraphBuilder& b, const AtenCall& call) {
  const char* target = call.name == "im2col" ? "unfold" : "fold";
  return ScriptValues{b.function(std::string("torch.nn.functional.") + target, call.values())};
}

Result split(GraphBuilder& b, const AtenCall& call) {
  const Value sizes = call.has("split_size") ? call["split_size"] : call["split_sizes"];
  Kwargs kwargs;
  add_unless(kwargs, "dim", call["dim"], 0);
  return ScriptValues{b.function("torch.split", {call["self"], sizes}, kwargs)};
}

Result frobenius_norm(GraphBuilder& b, const AtenCall& call) {
  const Value dims = call["dim"];
  const bool all = dims.is_none() || (dims.is_sequence() && dims.items().empty());
  Kwargs kwargs = {{"p", "fro"}, {"dim", all ? Value() : dims}};
  add_unless(kwargs, "keepdim", call.has("keepdim") ? call["keepdim"] : Value(false), false);
  return ScriptValues{b.function("torch.norm", {call["self"]}, kwargs)};
}

Result positions(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.nonzero", {call["self"]}, {{"as_tuple", true}})};
}

Result distances(GraphBuilder& b, const AtenCall& call) {
  static const char* const modes[] = {"use_mm_for_euclid_dist_if_necessary",
                                      "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"};
  const Value mode = call["compute_mode"];
  const int64_t number = mode.is_none() ? 0 : mode.to_int();
  SPARSEBIT_CHECK(number >= 0 && number < 3, InvalidModel, "cdist has no mode ", number);
  return ScriptValues{b.function("torch.cdist", {call["x1"], call["x2"], call["p"]},
                                 {{"compute_mode", modes[number]}})};
}

/// is_nested: tensors of a graph never are.
Result never(GraphBuilder&, const AtenCall&) { return ScriptValues{Value(false)}; }

/// A tensor of numbers; requires_grad is ignored, because the tensor is a constant.
Result new_tensor(GraphBuilder& b, const AtenCall& call) {
  Kwargs kwargs;
  add_unless(kwargs, "dtype", call["dtype"], {});
  add_unless(kwargs, "device", call["device"], {});
  return ScriptValues{b.function("torch.tensor", {call.args.at(0).value}, kwargs)};
}

/// Rules for the operators that layers of torch.nn consist of.
const AtenRules& layer_rules() {
  static const AtenRules all = {
      {"_convolution", convolution},
      {"convolution", convolution},
      {"_convolution_mode", convolution},
      {"embedding", embedding},
      {"embedding_bag", embedding_bag},
      {"upsample_nearest1d", write_upsample},
      {"upsample_nearest2d", write_upsample},
      {"upsample_nearest3d", write_upsample},
      {"_upsample_nearest_exact1d", write_upsample},
      {"_upsample_nearest_exact2d", write_upsample},
      {"_upsample_nearest_exact3d", write_upsample},
      {"upsample_linear1d", write_upsample},
      {"upsample_bilinear2d", write_upsample},
      {"upsample_bicubic2d", write_upsample},
      {"upsample_trilinear3d", write_upsample},
      {"_upsample_bilinear2d_aa", write_upsample},
      {"_upsample_bicubic2d_aa", write_upsample},
      {"reflection_pad1d", reflection_pad},
      {"reflection_pad2d", reflection_pad},
      {"reflection_pad3d", reflection_pad},
      {"replication_pad1d", replication_pad},
      {"replication_pad2d", replication_pad},
      {"replication_pad3d", replication_pad},
      {"constant_pad_nd", constant_pad},
      {"adaptive_max_pool1d", adaptive_max_pool},
      {"adaptive_max_pool2d", adaptive_max_pool},
      {"adaptive_max_pool3d", adaptive_max_pool},
      {"lstm_cell", in_order},
      {"gru_cell", in_order},
      {"rnn_tanh_cell", in_order},
      {"rnn_relu_cell", in_order},
      {"im2col", sliding_blocks},
      {"col2im", sliding_blocks},
      {"grid_sampler", write_grid_sampler},
      {"affine_grid_generator", write_affine_grid},
  };
  return all;
}

/// Rules for other operators on tensors.
const AtenRules& tensor_rules() {
  static const AtenRules all = {
      {"slice", slice},
      {"index", index},
      {"copy_", overwrite},
      {"fill_", overwrite},
      {"zero_", overwrite},
      {"to", to},
      {"max", larger_or_smaller},
      {"min", larger_or_smaller},
      {"dtype", attribute},
      {"device", attribute},
      {"shape", attribute},
      {"ndim", attribute},
      {"requires_grad", attribute},
      {"is_cuda", attribute},
      {"T", attribute},
      {"lift", same},
      {"lift_fresh", same},
      {"lift_fresh_copy", same},
      {"detach_", same},
      {"alias", same},
      {"split", split},
      {"split_with_sizes", split},
      {"frobenius_norm", frobenius_norm},
      {"nonzero_numpy", positions},
      {"cdist", distances},
      {"diff", differences},
      {"ScalarImplicit", number_of},
      {"is_nested", never},
      {"scalar_tensor", new_tensor},
      {"tensor", new_tensor},
  };
  return all;
}

}  // namespace

Value index_of_axis(int64_t axis, Value part) {
  constexpr int64_t kMostDimensions = 64;  // more than libtorch has
  SPARSEBIT_CHECK(axis >= -kMostDimensions && axis < kMostDimensions, InvalidModel,
                  "a slice of dimension ", axis);
  if (axis == 0) return part;
  std::vector<Value> index;
  if (axis > 0) {
    index.assign(axis, fx::Slice());
    index.push_back(std::move(part));
  } else {
    index = {fx::Ellipsis(), std::move(part)};
    index.insert(index.end(), -axis - 1, fx::Slice());
  }
  return fx::Tuple(std::move(index));
}

std::optional<ScriptValues> write_special(GraphBuilder& builder, const AtenCall& call) {
  for (const auto* rules :
       {&layer_rules(), &attention_rules(), &tensor_rules(), &newer_rules(), &core_rules()}) {
    const auto rule = rules->find(call.name);
    if (rule != rules->end()) return rule->second(builder, call);
  }
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript
