#include "easy/prepared_data.h"

#include "easy/model_summary.h"
#include "easy/usage_error.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/random.h"
#include "sparsebit/data/image_input.h"
#include "sparsebit/data/open_data.h"
#include "sparsebit/data/random_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace sparsebit::easy {

std::string preset_names() {
  std::string names;
  for (const io::PreprocessPreset& preset : io::preprocess_presets())
    names += (names.empty() ? "" : ", ") + preset.name;
  return names;
}

namespace {

bool is_preset(const std::string& name) {
  const auto& presets = io::preprocess_presets();
  return std::any_of(presets.begin(), presets.end(),
                     [&](const auto& preset) { return preset.name == name; });
}

}  // namespace

io::Preprocess preprocess_of(const std::string& preset_or_file) {
  if (!is_preset(preset_or_file) && std::filesystem::exists(preset_or_file))
    return io::read_preprocess(read_yaml(preset_or_file));
  return io::preprocess_preset(preset_or_file);  // its error lists the presets
}

// Repositories on the Hugging Face hub have the model beside the tokenizer, or in a subfolder.
std::string tokenizer_beside(const std::string& model) {
  namespace fs = std::filesystem;
  if (!fs::is_regular_file(model)) return "";
  const fs::path folder = fs::absolute(model).parent_path();
  for (const fs::path& place : {folder, folder.parent_path()}) {
    for (const char* name : {"tokenizer.json", "vocab.txt"}) {
      if (fs::is_regular_file(place / name)) return (place / name).string();
    }
  }
  return "";
}

namespace {

/// Enough for calibration with random numbers.
constexpr int64_t kRandomSamples = 16;

/// Step by step: g++ 12 destroys a member twice if an initializer of a temporary throws.
data::PreprocessChoice with_settings(io::Preprocess settings) {
  data::PreprocessChoice choice;
  choice.settings = std::move(settings);
  return choice;
}

/// --preprocess if given, otherwise the preprocessing that the caller knows.
std::optional<data::PreprocessChoice> choice_of(const DataOptions& options,
                                                const std::optional<io::Preprocess>& known) {
  if (is_preset(options.preprocess)) return data::PreprocessChoice{options.preprocess};
  if (!options.preprocess.empty()) return with_settings(preprocess_of(options.preprocess));
  return known ? std::optional(with_settings(*known)) : std::nullopt;
}

data::DataRequest request_of(const DataOptions& options, const std::string& source,
                             const std::optional<io::Preprocess>& preprocess,
                             const std::function<data::ModelFacts()>& facts) {
  data::DataRequest request{.path = options.data,
                            .labels = options.labels,
                            .preprocess = choice_of(options, preprocess),
                            .facts = facts,
                            .tokenizer = options.tokenizer,
                            .max_length = options.max_length,
                            .text_part = options.text_part};
  if (options.tokenizer.empty()) request.tokenizer = tokenizer_beside(source);
  for (const std::string& text : options.fixed) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--input " + text + ": expected NAME=ones, NAME=0.5 or NAME=FILE.npy");
    request.fixed.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return request;
}

}  // namespace

PreparedData::PreparedData(const DataOptions& options, const std::vector<data::InputSpec>& inputs,
                           const std::string& source, uint64_t seed,
                           const std::optional<io::Preprocess>& preprocess,
                           const std::function<data::ModelFacts()>& facts)
    : preprocess_name_(options.preprocess),
      data_(options.random
                ? data::random_data(facts(), options.samples > 0 ? options.samples : kRandomSamples,
                                    seed)
                : data::open_data(request_of(options, source, preprocess, facts), inputs)),
      is_random_(options.random),
      batch_size_(options.batch_size) {
  for (const std::string& note : data_.notes()) warn(note);
  const int64_t all = data_.size();
  if (options.samples > all)
    warn(fmt::format("{}: only {} for --samples {}", options.data, how_many(all, "sample"),
                     options.samples));
  if (!prepared_feed().guessed_from.empty() && !is_random_)
    warn("preprocessing: " + preprocess_text());
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
  if (fixed == 0) return is_ragged() ? 1 : batch_size_;
  const int64_t usable = size() / fixed * fixed;
  SPARSEBIT_CHECK(size() % fixed == 0, InvalidArgument, "the model has a fixed batch size of ",
                  fixed, ", which does not divide ", how_many(size(), "sample"),
                  usable > 0 ? "; use --samples " + std::to_string(usable)
                             : "; give at least " + std::to_string(fixed));
  return is_ragged() ? fixed : fixed * std::max<int64_t>(1, batch_size_ / fixed);
}

int64_t PreparedData::at_most(int64_t count, int64_t fixed) const {
  if (fixed > 0) return fixed;
  return is_ragged() ? 1 : std::min(count, size());
}

void PreparedData::warn(std::string text) {
  log_warning("{}", text);
  warnings_.push_back(std::move(text));
}

const data::InputFeed& PreparedData::prepared_feed() const {
  const auto& feeds = data_.feeds();
  const auto found = std::find_if(feeds.begin(), feeds.end(), [](const data::InputFeed& feed) {
    return !feed.preset.empty() || feed.preprocess != io::Preprocess{};
  });
  return found == feeds.end() ? feeds.front() : *found;
}

std::string PreparedData::preprocess_text() const {
  const data::InputFeed& feed = prepared_feed();
  if (!feed.guessed_from.empty())
    return fmt::format("{} (guessed from {}; --preprocess NAME sets it)", feed.preset,
                       feed.guessed_from);
  if (feed.preset.empty() && feed.preprocess == io::Preprocess{}) return "none";
  if (feed.preset.empty())
    return preprocess_name_.empty() ? "from the quantized file or manifest"
                                    : "from " + preprocess_name_;
  if (feed.preprocess == io::preprocess_preset(feed.preset)) return feed.preset;
  for (const data::InputSpec& input : data_.inputs()) {
    if (const auto image = data::image_input(input); image && input.name == feed.input)
      return fmt::format("{} for a {} input", feed.preset, image->to_text());
  }
  return feed.preset;
}

bool PreparedData::has_bytes() const {
  return data_.feeds().front().samples->get(0).data.scalar_type() == at::kByte;
}

PreparedData::Batch PreparedData::batch(int64_t start, int64_t count) const {
  const int64_t end = std::min(start + count, size());
  return with_context([&] { return data_.batch({chosen_.begin() + start, chosen_.begin() + end}); },
                      [] { return "`sparsebit data` lists all samples that cannot be used"; });
}

std::vector<fx::Value> values_of(const std::vector<at::Tensor>& inputs) {
  return {inputs.begin(), inputs.end()};
}

void check_fits(const fx::GraphModule& module, const std::vector<at::Tensor>& batch,
                const std::string& source) {
  const auto inputs = module.graph().placeholders();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!inputs[i]->tensor_info()) continue;
    const std::vector<int64_t>& wanted = inputs[i]->tensor_info()->shape;
    bool fits = std::ssize(wanted) == batch[i].dim();
    for (size_t axis = 1; fits && axis < wanted.size(); ++axis)
      fits = wanted[axis] < 0 || wanted[axis] == batch[i].size(static_cast<int64_t>(axis));
    SPARSEBIT_CHECK(fits, InvalidArgument, source, ": input '", inputs[i]->target(), "' takes ",
                    at::IntArrayRef(wanted), " (-1: any size), but samples have shape ",
                    batch[i].dim() > 0 ? batch[i].sizes().slice(1) : batch[i].sizes(),
                    "; resize, crop or change the layout with --preprocess");
  }
}

}  // namespace sparsebit::easy
