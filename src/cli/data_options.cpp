#include "cli/data_options.h"

#include "cli/common_options.h"
#include "cli/input_options.h"
#include "cli/option_values.h"

#include "sparsebit/core/error.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

namespace sparsebit::cli {

std::string known_preprocess(const std::string& preset_or_file) {
  const bool is_file = preset_or_file.find('/') != std::string::npos ||
                       preset_or_file.ends_with(".yaml") || preset_or_file.ends_with(".yml");
  std::error_code ignored;
  if (is_file || std::filesystem::exists(preset_or_file, ignored)) return "";
  if (preset_or_file.empty()) return not_empty(preset_or_file);
  try {
    io::preprocess_preset(preset_or_file);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

void add_data_options(CLI::App& command, DataOptions& options) {
  command
      .add_option(
          "--data", options.data,
          "Data set: a folder or list of images, an image, .npy, .npz, MNIST, CIFAR-10, or texts "
          "(.txt, .jsonl); for several inputs .npz, a folder or a manifest (.yaml)")
      ->required()
      ->type_name(value_kind::kPath)
      ->check(not_empty);
  command
      .add_option("--labels", options.labels,
                  "TSV file with a file name and a class number per line. Default: folders of "
                  "images are the classes")
      ->type_name(value_kind::kPath);
  command
      .add_option("--preprocess", options.preprocess,
                  "Image preprocessing, a YAML file or a preset: " + preset_names() +
                      ". Default: the one stored in a quantized file, otherwise guessed and "
                      "printed")
      ->type_name(value_kind::kPresetOrFile)
      ->check(known_preprocess);
  add_shape_option(command, options.shapes);
  command
      .add_option(
          "--tokenizer", options.tokenizer,
          "tokenizer.json or vocab.txt for texts. Default: the one in the model's folder or its "
          "parent")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  command
      .add_option("--max-length", options.max_length,
                  fmt::format("Maximum number of tokens per text. Default: {}", options.max_length))
      ->check(whole_number_from(1, 1'000'000));
  command
      .add_option("--input", options.fixed,
                  "Input that is the same for every sample: NAME=ones, NAME=zeros, NAME=NUMBER or "
                  "NAME=FILE.npy (repeatable)")
      ->type_name("NAME=VALUE")
      ->check(not_empty)
      ->allow_extra_args(false);
  command
      .add_option("--samples", options.samples,
                  "Number of samples, chosen at random with --seed. Default: 0 (all)")
      ->check(whole_number_from(0, 1'000'000'000));
  command
      .add_option("--batch-size", options.batch_size,
                  fmt::format("Samples per batch. Default: {}", options.batch_size))
      ->check(whole_number_from(1, 65536));
}

}  // namespace sparsebit::cli
