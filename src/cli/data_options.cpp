#include "cli/data_options.h"

#include "cli/common_options.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/random.h"

#include <ATen/ATen.h>
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
                  "imagenet, cifar10, mnist, none, or a YAML file; see 'sparsebit data'")
      ->capture_default_str();
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

PreparedData::PreparedData(const DataOptions& options, uint64_t seed)
    : dataset_(io::open_dataset(options.data, options.labels)),
      preprocess_(preprocess_of(options.preprocess)) {
  const int64_t all = dataset_->size();
  if (options.samples == 0 || options.samples >= all) {
    chosen_.resize(static_cast<size_t>(all));
    std::iota(chosen_.begin(), chosen_.end(), int64_t{0});
    return;
  }
  chosen_ = Random(seed).fork("samples").permutation(all);
  chosen_.resize(static_cast<size_t>(options.samples));
  std::sort(chosen_.begin(), chosen_.end());
}

io::Sample PreparedData::read(int64_t index) const {
  return dataset_->get(chosen_.at(static_cast<size_t>(index)));
}

at::Tensor PreparedData::input(int64_t index) const {
  const io::Sample sample = read(index);
  return with_context([&] { return preprocess_.apply(sample.data); },
                      [&] { return "at sample '" + sample.name + "'"; });
}

int64_t PreparedData::label(int64_t index) const {
  const io::Sample sample = read(index);
  SPARSEBIT_CHECK(sample.label, InvalidArgument, "sample '", sample.name, "' has no label");
  return *sample.label;
}

at::Tensor PreparedData::batch(int64_t start, int64_t count) const {
  std::vector<at::Tensor> inputs;
  for (int64_t i = start; i < std::min(start + count, size()); ++i) {
    inputs.push_back(input(i));
    SPARSEBIT_CHECK(inputs.back().sizes() == inputs.front().sizes(), InvalidArgument, "sample '",
                    read(i).name, "' has shape ", inputs.back().sizes(), ", and others have ",
                    inputs.front().sizes(), "; --preprocess can resize and crop");
  }
  return at::stack(inputs);
}

}  // namespace sparsebit::cli
