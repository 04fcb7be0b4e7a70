#include "sparsebit/data/model_data.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

namespace sparsebit::data {
namespace {

/// The size of a sample's axis that the model requires; -1: any.
int64_t wanted_size(const InputSpec& spec, int64_t axis) {
  if (!spec.info || axis + 1 >= std::ssize(spec.info->shape)) return -1;
  return spec.info->shape[static_cast<size_t>(axis + 1)];
}

/// The sizes to which all samples of a batch are padded.
std::vector<int64_t> common_sizes(const std::vector<io::Sample>& samples, const InputSpec& spec) {
  std::vector<int64_t> sizes = samples.front().data.sizes().vec();
  for (const io::Sample& sample : samples) {
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      sizes[axis] = std::max(sizes[axis], sample.data.size(static_cast<int64_t>(axis)));
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    sizes[axis] = std::max(sizes[axis], wanted_size(spec, static_cast<int64_t>(axis)));
  return sizes;
}

at::Tensor filled_up(const at::Tensor& sample, const std::vector<int64_t>& sizes, double value) {
  std::vector<int64_t> more;  // from the last axis; before and after
  for (int64_t axis = sample.dim() - 1; axis >= 0; --axis) {
    more.push_back(0);
    more.push_back(sizes[static_cast<size_t>(axis)] - sample.size(axis));
  }
  return at::constant_pad_nd(sample, more, value);
}

/// Converts to the input's type. Conversions between float types may round; conversions to integers
/// must be exact.
at::Tensor converted(const at::Tensor& batch, const InputSpec& spec) {
  if (!spec.info || spec.info->dtype == batch.scalar_type()) return batch;
  const at::Tensor result = batch.to(spec.info->dtype);
  const bool loses = !result.is_floating_point() && !result.to(batch.scalar_type()).equal(batch);
  SPARSEBIT_CHECK(!loses, InvalidArgument, "the input '", spec.name, "' takes ",
                  c10::toString(spec.info->dtype), ", which cannot represent its values");
  return result;
}

/// Sizes of dynamic axes by their symbolic names.
using Symbols = std::map<std::string, int64_t>;

void learn_symbols(const InputSpec& spec, const at::Tensor& batch, Symbols& symbols) {
  if (!spec.info || std::ssize(spec.info->symbols) != batch.dim()) return;
  for (int64_t axis = 0; axis < batch.dim(); ++axis) {
    const std::string& symbol = spec.info->symbols[static_cast<size_t>(axis)];
    if (!symbol.empty()) symbols.emplace(symbol, batch.size(axis));
  }
}

/// A constant tensor of the input's shape.
/// @param batch  batch size of the model; -1: dynamic.
/// @param count  samples in this batch.
at::Tensor filled_with(const at::Tensor& number, const InputSpec& spec, const Symbols& symbols,
                       int64_t batch, int64_t count) {
  SPARSEBIT_CHECK(spec.info, InvalidArgument, "the shape of the input '", spec.name,
                  "' is unknown; give it as a file, FILE.npy");
  std::vector<int64_t> shape = spec.info->shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == 0 && shape[axis] == batch) shape[axis] = count;
    if (shape[axis] >= 0) continue;
    const bool has_symbol = axis < spec.info->symbols.size();
    const auto known = has_symbol ? symbols.find(spec.info->symbols[axis]) : symbols.end();
    SPARSEBIT_CHECK(
        axis == 0 || known != symbols.end(), InvalidArgument, "the size of axis ", axis,
        " of the input '", spec.name,
        "' is dynamic, and no other input determines it; give the input as a file, FILE.npy");
    shape[axis] = known != symbols.end() ? known->second : count;
  }
  return converted(at::full(shape, number.item(), at::kDouble), spec);
}

/// Repeats a fixed input that was given for one sample or for one batch of the model.
at::Tensor repeated(const at::Tensor& value, const InputSpec& spec, int64_t batch, int64_t count) {
  const at::Tensor given = converted(value, spec);
  const bool has_batch =
      spec.info && !spec.info->shape.empty() && spec.info->shape.front() == batch;
  const int64_t rows = given.size(0);
  if (!has_batch || count % rows != 0 || (rows != 1 && rows != batch)) return given;
  std::vector<int64_t> times(static_cast<size_t>(given.dim()), 1);
  times.front() = count / rows;
  return given.repeat(times);
}

/// The size of the first axis of an input; -1: dynamic or unknown.
int64_t batch_of(const InputSpec& spec) {
  return spec.info && !spec.info->shape.empty() ? spec.info->shape.front() : -1;
}

}  // namespace

std::vector<InputSpec> inputs_of(const fx::GraphModule& module) {
  std::vector<InputSpec> inputs;
  for (const fx::Node* input : module.graph().placeholders())
    inputs.push_back({input->target(), input->tensor_info(), !input->args().empty()});
  return inputs;
}

ModelData::ModelData(std::vector<InputSpec> inputs, std::vector<InputFeed> feeds,
                     std::vector<FixedInput> fixed, std::vector<std::string> notes)
    : inputs_(std::move(inputs)),
      feeds_(std::move(feeds)),
      fixed_(std::move(fixed)),
      notes_(std::move(notes)) {
  std::map<std::string, int> sources;
  std::vector<std::string> names;
  for (const InputSpec& input : inputs_) names.push_back(input.name);
  const auto count = [&](const std::string& name) {
    SPARSEBIT_CHECK(std::find(names.begin(), names.end(), name) != names.end(), InvalidArgument,
                    "there is no input '", name, "'", did_you_mean(name, names));
    SPARSEBIT_CHECK(++sources[name] == 1, InvalidArgument, "the input '", name, "' is given twice");
  };
  for (const InputFeed& feed : feeds_) count(feed.input);
  for (const FixedInput& input : fixed_) count(input.input);
  for (const InputSpec& input : inputs_) {
    SPARSEBIT_CHECK(sources.contains(input.name) || input.has_default, InvalidArgument,
                    "the input '", input.name, "' is missing");
  }
  SPARSEBIT_CHECK(!feeds_.empty() && feeds_.front().samples->size() > 0, InvalidArgument,
                  "no input has samples");
  for (const InputFeed& feed : feeds_) {
    SPARSEBIT_CHECK(feed.samples->size() == size(), InvalidArgument, "there are ", size(),
                    " samples for '", feeds_.front().input, "' and ", feed.samples->size(),
                    " for '", feed.input, "'");
    if (!labels_ && feed.samples->has_labels()) labels_ = &feed;
  }
}

const InputFeed* ModelData::feed_of(const std::string& input) const {
  const auto found = std::find_if(feeds_.begin(), feeds_.end(),
                                  [&](const InputFeed& feed) { return feed.input == input; });
  return found == feeds_.end() ? nullptr : &*found;
}

bool ModelData::is_ragged() const {
  for (const InputSpec& spec : inputs_) {
    const InputFeed* feed = feed_of(spec.name);
    if (feed && feed->padding && wanted_size(spec, 0) < 0) return true;
  }
  return false;
}

at::Tensor ModelData::fed(const InputFeed& feed, const InputSpec& spec,
                          const std::vector<int64_t>& indices, Batch& batch) const {
  std::vector<io::Sample> samples(indices.size());
  std::vector<StoredSample> stored(indices.size());
  parallel_for(std::ssize(samples), at::get_num_threads(), [&](int64_t i, int) {
    io::Sample& sample = samples[static_cast<size_t>(i)];
    const int64_t index = indices[static_cast<size_t>(i)];
    sample = feed.samples->get(index);
    stored[static_cast<size_t>(i)] = {index, sample.name, sample.data.sizes().vec()};
    with_context([&] { sample.data = feed.preprocess.apply(sample.data); },
                 [&] { return "at sample '" + sample.name + "'"; });
  });
  for (const io::Sample& sample : samples) {
    const at::Tensor& first = samples.front().data;
    const bool fits =
        feed.padding ? sample.data.dim() == first.dim() : sample.data.sizes() == first.sizes();
    SPARSEBIT_CHECK(fits, InvalidArgument, "sample '", sample.name, "' has shape ",
                    sample.data.sizes(), ", and others have ", first.sizes(),
                    "; --preprocess can resize and crop");
  }
  const auto sizes = feed.padding ? common_sizes(samples, spec) : std::vector<int64_t>();
  std::vector<at::Tensor> tensors;
  for (const io::Sample& sample : samples) {
    tensors.push_back(feed.padding ? filled_up(sample.data, sizes, *feed.padding) : sample.data);
    if (&feed != labels_) continue;
    SPARSEBIT_CHECK(sample.label, InvalidArgument, "sample '", sample.name, "' has no label");
    batch.labels.push_back(*sample.label);
  }
  if (&feed == &feeds_.front()) batch.stored = std::move(stored);
  return converted(at::stack(tensors), spec);
}

ModelData::Batch ModelData::batch(const std::vector<int64_t>& indices) const {
  Batch result{.inputs = std::vector<at::Tensor>(inputs_.size()), .size = std::ssize(indices)};
  SPARSEBIT_CHECK(!indices.empty(), InvalidArgument, "empty batch");
  Symbols symbols;
  int64_t at_once = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputFeed* feed = feed_of(inputs_[i].name);
    if (!feed) continue;
    at_once = std::max(at_once, batch_of(inputs_[i]));
    result.inputs[i] = fed(*feed, inputs_[i], indices, result);
    learn_symbols(inputs_[i], result.inputs[i], symbols);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto fixed = std::find_if(fixed_.begin(), fixed_.end(), [&](const FixedInput& input) {
      return input.input == inputs_[i].name;
    });
    if (fixed == fixed_.end()) continue;
    result.inputs[i] = fixed->value.dim() == 0
                           ? filled_with(fixed->value, inputs_[i], symbols, at_once, result.size)
                           : repeated(fixed->value, inputs_[i], at_once, result.size);
  }
  while (!result.inputs.back().defined())
    result.inputs.pop_back();  // trailing inputs with defaults
  for (size_t i = 0; i < result.inputs.size(); ++i) {
    SPARSEBIT_CHECK(result.inputs[i].defined(), InvalidArgument, "the input '", inputs_[i].name,
                    "' is missing, but inputs after it are given");
  }
  return result;
}

}  // namespace sparsebit::data
