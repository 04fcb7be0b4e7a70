#include "sparsebit/fx/ops/data_sizes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace sparsebit::fx {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Which dimensions have data-dependent sizes.
enum class Dims { First, All, Axis, Last };

struct DataSized {
  std::vector<const char*> by;  ///< arguments whose elements determine the sizes
  Dims dims;
};

const std::map<std::string, DataSized, std::less<>>& data_sized_operators() {
  static const std::map<std::string, DataSized, std::less<>> table = {
      {"arange", {{"start", "end", "step"}, Dims::First}},
      {"linspace", {{"steps"}, Dims::First}},
      {"masked_select", {{"input", "mask"}, Dims::First}},
      {"nonzero", {{"input"}, Dims::First}},
      {"one_hot", {{"input"}, Dims::Last}},
      {"onnx.AffineGrid", {{"size"}, Dims::All}},
      {"onnx.BlackmanWindow", {{"size"}, Dims::First}},
      {"onnx.CenterCropPad", {{"shape"}, Dims::All}},
      {"onnx.Compress", {{"condition"}, Dims::Axis}},
      {"onnx.ConstantOfShape", {{"input"}, Dims::All}},
      {"onnx.DFT", {{"dft_length", "axis"}, Dims::All}},
      {"onnx.Expand", {{"shape"}, Dims::All}},
      {"onnx.HammingWindow", {{"size"}, Dims::First}},
      {"onnx.HannWindow", {{"size"}, Dims::First}},
      {"onnx.MaxUnpool", {{"output_shape"}, Dims::All}},
      {"onnx.MelWeightMatrix", {{"num_mel_bins", "dft_length"}, Dims::All}},
      {"onnx.NonMaxSuppression",
       {{"boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"},
        Dims::First}},
      {"onnx.OneHot", {{"depth"}, Dims::Axis}},
      {"onnx.Pad", {{"pads", "axes"}, Dims::All}},
      {"onnx.Range", {{"start", "limit", "delta"}, Dims::First}},
      {"onnx.Reshape", {{"shape"}, Dims::All}},
      {"onnx.Resize", {{"roi", "scales", "sizes"}, Dims::All}},
      {"onnx.STFT", {{"frame_step", "frame_length"}, Dims::All}},
      {"onnx.ReduceL1", {{"axes"}, Dims::All}},
      {"onnx.ReduceL2", {{"axes"}, Dims::All}},
      {"onnx.ReduceLogSum", {{"axes"}, Dims::All}},
      {"onnx.ReduceLogSumExp", {{"axes"}, Dims::All}},
      {"onnx.ReduceMax", {{"axes"}, Dims::All}},
      {"onnx.ReduceMean", {{"axes"}, Dims::All}},
      {"onnx.ReduceMin", {{"axes"}, Dims::All}},
      {"onnx.ReduceProd", {{"axes"}, Dims::All}},
      {"onnx.ReduceSum", {{"axes"}, Dims::All}},
      {"onnx.ReduceSumSquare", {{"axes"}, Dims::All}},
      {"onnx.Slice", {{"starts", "ends", "axes", "steps"}, Dims::All}},
      {"onnx.Split", {{"split"}, Dims::Axis}},
      {"onnx.Squeeze", {{"axes"}, Dims::All}},
      {"onnx.Tile", {{"repeats"}, Dims::All}},
      {"onnx.TopK", {{"K"}, Dims::Axis}},
      {"onnx.Unique", {{"X"}, Dims::Axis}},
      {"onnx.Unsqueeze", {{"axes"}, Dims::All}},
      {"repeat_interleave", {{"repeats", "input"}, Dims::Axis}},
      {"where", {{"condition"}, Dims::First}},
  };
  return table;
}

/// Calls of these operators whose sizes do not depend on data.
bool has_fixed_form(const std::string& op, const Args& args) {
  if (op == "where") return !args.is_none("input");
  if (op == "one_hot") return args["num_classes"].is_int() && args["num_classes"].to_int() >= 0;
  if (op == "repeat_interleave") return args["repeats"].is_int() || args["repeats"].is_bool();
  return false;
}

bool is_mask(const Value& index) {
  return index.is_tensor() && index.tensor().dim() > 0 &&
         (index.tensor().scalar_type() == at::kBool || index.tensor().scalar_type() == at::kByte);
}

/// x[:, mask]: the dimension of the selected elements.
std::vector<int64_t> masked_dims(const Args& args) {
  const Value& index = args["index"];
  const std::vector<Value> items = index.is<Tuple>() ? index.items() : std::vector<Value>{index};
  if (std::none_of(items.begin(), items.end(), is_mask)) return {};
  int64_t dim = 0;
  for (const Value& item : items) {
    if (item.is_tensor()) break;
    const bool open_ended = item.is<Ellipsis>();
    if (open_ended) return {args["input"].tensor().dim()};  // counts from the end: the last one
    dim += item.is_none() || item.is<Slice>() ? 1 : 0;
  }
  return {dim};
}

int64_t axis_of(const Args& args) {
  for (const char* name : {"axis", "dim"}) {
    if (args.schema().find(name) && !args.is_none(name)) return args.integer(name);
  }
  return 0;
}

const at::Tensor& first_tensor(const Value& value) {
  return value.is_sequence() ? first_tensor(value.items().at(0)) : value.tensor();
}

}  // namespace

bool reads_only_sizes(const Operator& op, const Args& args) {
  static const Names names = {"dim",       "empty_like", "full_like", "is_floating_point",
                              "new_empty", "new_full",   "new_ones",  "new_zeros",
                              "numel",     "ones_like",  "rand_like", "randn_like",
                              "size",      "zeros_like", "onnx.Shape"};
  if (op.name == "len") return args["input"].is_tensor();
  if (op.name == "getattr") {
    static const Names attributes = {"shape", "ndim", "dtype", "device", "requires_grad"};
    return args["input"].is_tensor() && attributes.contains(args.text("name"));
  }
  return names.contains(op.name);
}

bool takes_number(const Operator& op, const Args& args) {
  static const Names names = {"float", "index", "int", "item"};
  return names.contains(op.name) && args["input"].is_tensor();
}

bool can_be_data_sized(const std::string& operator_name) {
  return operator_name == "getitem" || data_sized_operators().contains(operator_name);
}

std::vector<int64_t> data_sized_dims(const Operator& op, const Args& args,
                                     const std::function<bool(std::string_view)>& depends_on_data,
                                     const Value& result) {
  if (op.name == "getitem") {
    return args["input"].is_tensor() && depends_on_data("index") ? masked_dims(args)
                                                                 : std::vector<int64_t>{};
  }
  const auto entry = data_sized_operators().find(op.name);
  if (entry == data_sized_operators().end() || has_fixed_form(op.name, args)) return {};
  const auto& [by, dims] = entry->second;
  if (std::none_of(by.begin(), by.end(), depends_on_data)) return {};
  if (dims == Dims::First) return {0};
  const int64_t rank = first_tensor(result).dim();
  if (dims == Dims::Last) return {rank - 1};
  if (dims == Dims::Axis) return {axis_of(args) < 0 ? axis_of(args) + rank : axis_of(args)};
  std::vector<int64_t> all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Value one_larger(const Value& result, const std::vector<int64_t>& dims) {
  if (result.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : result.items()) items.push_back(one_larger(item, dims));
    return Tuple(std::move(items));
  }
  if (!result.is_tensor() || result.tensor().dim() == 0) return result;
  at::Tensor larger = result.tensor();
  for (int64_t dim : dims) {
    dim = std::min(dim, larger.dim() - 1);
    std::vector<int64_t> more = larger.sizes().vec();
    more[static_cast<size_t>(dim)] = 1;
    const at::Tensor first =
        larger.size(dim) > 0 ? larger.narrow(dim, 0, 1) : at::zeros(more, larger.options());
    larger = at::cat({larger, first}, dim);
  }
  return larger;
}

}  // namespace sparsebit::fx
