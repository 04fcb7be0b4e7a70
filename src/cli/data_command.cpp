#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/data_options.h"
#include "cli/option_values.h"
#include "easy/error_text.h"
#include "easy/model_summary.h"
#include "easy/usage_error.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/fx/ops/value.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>

namespace sparsebit::cli {
namespace {

struct DataCommandOptions {
  std::string path;
  std::string labels;
  std::string preprocess = "none";
  std::string show;
  bool json = false;
  CommonOptions common;
};

/// The result of reading the samples.
struct Findings {
  std::map<std::string, int64_t> shapes;  // "uint8 [3, 32, 32]" -> number of samples
  std::vector<std::string> problems;      // error messages of the first unusable samples
  int64_t unreadable = 0;
  std::map<int64_t, int64_t> classes;  // class -> number of samples
};

constexpr size_t kMostProblems = 5;
/// Only the first samples are read: reading a large data set takes too long for a check.
constexpr int64_t kMostRead = 1000;

/// Throws when a preprocessed sample has another shape than the first one, or is not finite.
void check_ready(const io::Sample& sample, const at::Tensor& ready, const at::Tensor& first) {
  SPARSEBIT_CHECK(ready.sizes() == first.sizes(), InvalidArgument, "sample '", sample.name,
                  "' has shape ", ready.sizes(), ", but the first sample has ", first.sizes(),
                  "; resize or crop with --preprocess");
  SPARSEBIT_CHECK(!ready.is_floating_point() || at::isfinite(ready).all().item<bool>(),
                  InvalidArgument, "sample '", sample.name, "' contains NaN or infinity");
}

/// What is wrong with a sample. Libraries that decode and resize have exceptions of their own, and
/// no name for it.
/// @param sample  empty when it could not be read.
std::string sample_problem(const std::exception& error, const io::Sample& sample, int64_t index) {
  std::string text = error_text(error);
  text.erase(std::min(text.find('\n'), text.size()));
  const std::string name = sample.name.empty() ? std::to_string(index) : "'" + sample.name + "'";
  const bool is_named = sample.name.empty() ? dynamic_cast<const Error*>(&error) != nullptr
                                            : text.find(sample.name) != std::string::npos;
  return is_named ? text : "sample " + name + ": " + text;
}

Findings look_at(const io::Dataset& data, const io::Preprocess& preprocess) {
  Findings found;
  at::Tensor first;
  for (int64_t i = 0; i < std::min(data.size(), kMostRead); ++i) {
    io::Sample sample;
    try {
      sample = data.get(i);
      const at::Tensor ready = preprocess.apply(sample.data);
      if (!first.defined()) first = ready;
      check_ready(sample, ready, first);
      ++found.shapes[c10::str(fx::dtype_name(sample.data.scalar_type()), " ", sample.data.sizes())];
      if (sample.label) ++found.classes[*sample.label];
    } catch (const std::exception& e) {
      ++found.unreadable;
      if (found.problems.size() < kMostProblems)
        found.problems.push_back(sample_problem(e, sample, i));
    }
  }
  return found;
}

/// The most frequent shapes, and the number of other shapes.
std::string shapes_as_text(const Findings& found) {
  constexpr size_t kMostShown = 5;
  std::vector<std::pair<int64_t, std::string>> shapes;
  for (const auto& [shape, count] : found.shapes) shapes.emplace_back(-count, shape);
  std::sort(shapes.begin(), shapes.end());
  std::string text;
  for (size_t i = 0; i < std::min(shapes.size(), kMostShown); ++i)
    text += fmt::format("  {:>7}  {}\n", -shapes[i].first, shapes[i].second);
  if (shapes.size() > kMostShown)
    text += fmt::format("           and {}\n",
                        how_many(static_cast<int64_t>(shapes.size() - kMostShown), "other shape"));
  return text;
}

/// The classes of the data set (folders), otherwise those of the samples that were read.
size_t count_classes(const io::Dataset& data, const Findings& found) {
  return data.classes().empty() ? found.classes.size() : data.classes().size();
}

std::string classes_as_text(const io::Dataset& data, const Findings& found) {
  if (!data.has_labels()) return "no labels\n";
  constexpr size_t kMostShown = 8;
  std::vector<std::string> names = data.classes();
  const bool more = names.size() > kMostShown;
  names.resize(std::min(names.size(), kMostShown));
  std::string text = fmt::format("classes: {}\n", count_classes(data, found));
  for (std::string& name : names) name = printable(name, kMostOfCell);
  if (!names.empty()) text += fmt::format("  {}{}\n", fmt::join(names, ", "), more ? ", ..." : "");
  return text;
}

std::string as_text(const io::Dataset& data, const Findings& found) {
  std::string text = fmt::format("{}: {}\n", data.describe(), how_many(data.size(), "sample"));
  if (data.size() > kMostRead) text += fmt::format("checked the first {} samples\n", kMostRead);
  text += shapes_as_text(found) + classes_as_text(data, found);
  for (const std::string& note : data.notes()) text += note + "\n";
  if (found.unreadable > 0)
    text += fmt::format("{} cannot be used:\n", how_many(found.unreadable, "sample"));
  for (const std::string& problem : found.problems) text += "  " + problem + "\n";
  return text;
}

std::string as_json(const io::Dataset& data, const Findings& found) {
  nlohmann::ordered_json json;
  json["kind"] = data.describe();
  json["samples"] = data.size();
  json["looked_at"] = std::min(data.size(), kMostRead);
  json["shapes"] = found.shapes;
  json["labels"] = data.has_labels();
  json["classes"] = count_classes(data, found);
  json["notes"] = data.notes();
  json["unreadable"] = found.unreadable;
  json["problems"] = found.problems;
  // Names of files may be any bytes.
  return json_text(json);
}

/// The presets, or one of them as YAML to edit.
std::string shown_preprocess(const std::string& name) {
  std::string text;
  for (const io::PreprocessPreset& preset : io::preprocess_presets()) {
    if (name == "list") text += fmt::format("{:<10} {}\n", preset.name, preset.summary);
    if (name == preset.name) text = "# " + preset.summary + "\n";
  }
  return name == "list" ? text : text + preprocess_of(name).describe();
}

void show_data(const DataCommandOptions& options, std::ostream& out) {
  apply(options.common);
  if (!options.show.empty()) {
    out << shown_preprocess(options.show);
    return;
  }
  if (options.path.empty()) throw UsageError("data needs a PATH, or --show-preprocess NAME");
  const auto data = io::open_dataset(options.path, options.labels);
  const Findings found = look_at(*data, preprocess_of(options.preprocess));
  out << (options.json ? as_json(*data, found) : as_text(*data, found));
  SPARSEBIT_CHECK(found.unreadable == 0, InvalidArgument, options.path, ": ",
                  how_many(found.unreadable, "sample"), " cannot be used");
}

}  // namespace

void add_data_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<DataCommandOptions>();
  CLI::App* cmd = app.add_subcommand("data", "Check a data set before calibrating");
  cmd->add_option(
         "path", options->path,
         "Data set: a folder of images, an image, a text file that lists images, a .npy or .npz "
         "file, an MNIST or CIFAR-10 file")
      ->type_name(value_kind::kPath);
  cmd->add_option("--labels", options->labels,
                  "TSV file with a file name and a class number per line")
      ->type_name(value_kind::kFile);
  cmd->add_option(
         "--preprocess", options->preprocess,
         "Preset or YAML file to preprocess the samples with. Default: " + options->preprocess)
      ->type_name(value_kind::kPresetOrFile)
      ->check(known_preprocess);
  cmd->add_option(
         "--show-preprocess", options->show,
         "Print a preset as YAML to edit, or 'list' for a description of each: " + preset_names())
      ->type_name(value_kind::kPreset)
      ->check([](const std::string& name) { return name == "list" ? "" : known_preprocess(name); });
  cmd->add_flag("--json", options->json, "Print JSON");
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit data images/ --preprocess imagenet\n"
      "  sparsebit data --show-preprocess list\n"
      "  sparsebit data --show-preprocess imagenet > mine.yaml");
  cmd->callback([options, &out] { show_data(*options, out); });
}

}  // namespace sparsebit::cli
