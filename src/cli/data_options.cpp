#include "cli/data_options.h"

#include "cli/common_options.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/core/random.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace sparsebit::cli {

void add_data_options(CLI::App& command, DataOptions& options) {
  command
      .add_option("--data", options.data,
                  "Samples: a folder of images, a .npy or .npz file, an MNIST or CIFAR-10 file")
      ->required()
      ->check(not_empty);
  command.add_option("--labels", options.labels,
                     "TSV file with a file name and a class number in each line; folders of images "
                     "are classes without it");
  command
      .add_option("--preprocess", options.preprocess,
                  "imagenet, cifar10, mnist, none, or a YAML file; see 'sparsebit data'. Unless "
                  "told, that of a quantized file, and none for other models")
      ->check(not_empty);
  command.add_option("--samples", options.samples, "How many samples, chosen by --seed; all if 0")
      ->check(whole_number_from(0, 1'000'000'000))
      ->capture_default_str();
  command.add_option("--batch-size", options.batch_size, "Samples that are read at a time")
      ->check(whole_number_from(1, 65536))
      ->capture_default_str();
}

io::Preprocess preprocess_of(const std::string& preset_or_file) {
  const std::vector<std::string> presets = io::preprocess_presets();
  const bool is_preset = std::find(presets.begin(), presets.end(), preset_or_file) != presets.end();
  if (!is_preset && std::filesystem::exists(preset_or_file))
    return io::read_preprocess(read_yaml(preset_or_file));
  return io::preprocess_preset(preset_or_file);  // with an error that lists them
}

PreparedData::PreparedData(const DataOptions& options, uint64_t seed,
                           const io::Preprocess& preprocess)
    : dataset_(io::open_dataset(options.data, options.labels)),
      preprocess_(options.preprocess.empty() ? preprocess : preprocess_of(options.preprocess)),
      batch_size_(options.batch_size) {
  for (const std::string& note : dataset_->notes()) log_warning("{}", note);
  const int64_t all = dataset_->size();
  if (options.samples > all)
    log_warning("{}: there are {} samples, not {}", options.data, all, options.samples);
  if (options.samples == 0 || options.samples >= all) {
    chosen_.resize(static_cast<size_t>(all));
    std::iota(chosen_.begin(), chosen_.end(), int64_t{0});
    return;
  }
  chosen_ = Random(seed).fork("samples").permutation(all);
  chosen_.resize(static_cast<size_t>(options.samples));
  std::sort(chosen_.begin(), chosen_.end());
}

int64_t PreparedData::step(int64_t fixed) const {
  if (fixed == 0) return batch_size_;
  SPARSEBIT_CHECK(size() % fixed == 0, InvalidArgument, "the model takes ", fixed,
                  " samples at once, which does not divide ", size(), "; --samples ",
                  size() / fixed * fixed, " does");
  return fixed * std::max<int64_t>(1, batch_size_ / fixed);
}

io::Sample PreparedData::prepared(int64_t index) const {
  io::Sample sample = dataset_->get(chosen_.at(static_cast<size_t>(index)));
  SPARSEBIT_CHECK(sample.label || !has_labels(), InvalidArgument, "sample '", sample.name,
                  "' has no label");
  with_context([&] { sample.data = preprocess_.apply(sample.data); },
               [&] { return "at sample '" + sample.name + "'"; });
  return sample;
}

PreparedData::Batch PreparedData::batch(int64_t start, int64_t count) const {
  std::vector<io::Sample> samples(static_cast<size_t>(std::min(count, size() - start)));
  parallel_for(std::ssize(samples), at::get_num_threads(),
               [&](int64_t i, int) { samples[static_cast<size_t>(i)] = prepared(start + i); });
  std::vector<at::Tensor> inputs;
  Batch batch;
  for (const io::Sample& sample : samples) {
    const at::Tensor& first = samples.front().data;
    SPARSEBIT_CHECK(sample.data.sizes() == first.sizes(), InvalidArgument, "sample '", sample.name,
                    "' has shape ", sample.data.sizes(), ", and others have ", first.sizes(),
                    "; --preprocess can resize and crop");
    inputs.push_back(sample.data);
    if (sample.label) batch.labels.push_back(*sample.label);
  }
  batch.inputs = at::stack(inputs);
  return batch;
}

void check_fits(const fx::GraphModule& module, const at::Tensor& batch, const std::string& source) {
  const fx::Node* input = module.graph().placeholders().front();
  if (!input->tensor_info()) return;
  const std::vector<int64_t>& wanted = input->tensor_info()->shape;
  bool fits = static_cast<int64_t>(wanted.size()) == batch.dim();
  for (size_t i = 1; fits && i < wanted.size(); ++i)
    fits = wanted[i] < 0 || wanted[i] == batch.size(static_cast<int64_t>(i));
  SPARSEBIT_CHECK(fits, InvalidArgument, source, ": its input '", input->target(), "' is ",
                  at::IntArrayRef(wanted), " (-1 is any size), and samples are ",
                  batch.sizes().slice(1), "; --preprocess can resize, crop and change the layout");
}

void check_one_input(const fx::GraphModule& module, const std::string& source) {
  const size_t inputs = module.graph().placeholders().size();
  SPARSEBIT_CHECK(inputs == 1, Unsupported, source, ": it has ", inputs,
                  " inputs, and data sets have one");
}

}  // namespace sparsebit::cli
