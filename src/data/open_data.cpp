#include "sparsebit/data/open_data.h"

#include "data/text_samples.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/data/guess_preprocess.h"
#include "sparsebit/data/image_input.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace sparsebit::data {
namespace {

namespace fs = std::filesystem;

bool is_manifest(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

/// False for paths that cannot be looked up, such as names that are too long.
bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

bool is_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

/// Parses "ones", "zeros", a number, or the name of a file.
at::Tensor fixed_value(const std::string& text, const fs::path& beside) {
  if (text == "ones") return at::scalar_tensor(1);
  if (text == "zeros") return at::scalar_tensor(0);
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc() && stop == end) return at::scalar_tensor(number, at::kDouble);
  const fs::path file = fs::path(text).is_absolute() ? fs::path(text) : beside / text;
  SPARSEBIT_CHECK(is_there(file), InvalidArgument, "'", text,
                  "' is not a valid value; expected ones, zeros, a number or an existing file");
  const at::Tensor value = io::load_npy(file);
  return value.dim() == 0 ? value.reshape({1}) : value;
}

class DataOpener {
 public:
  DataOpener(const DataRequest& request, const std::vector<InputSpec>& inputs)
      : request_(request), inputs_(inputs) {}

  ModelData open() {
    for (const auto& [input, text] : request_.fixed) add_fixed(input, text, fs::current_path());
    SPARSEBIT_CHECK(is_there(request_.path), Io, request_.path.string(),
                    ": no such file or folder");
    if (is_manifest(request_.path)) {
      open_manifest();
    } else if (is_text_file(request_.path) && !io::is_image_list(request_.path)) {
      open_texts(request_.path, request_.tokenizer);
    } else if (is_folder(request_.path) && has_part_for_input(request_.path)) {
      open_folder();
    } else if (request_.path.extension() != ".npz" || !open_archive()) {
      open_only_input();
    }
    return ModelData(inputs_, std::move(feeds_), std::move(fixed_), std::move(notes_));
  }

 private:
  bool is_given(const std::string& input) const {
    const auto is_it = [&](const auto& source) { return source.input == input; };
    return std::any_of(fixed_.begin(), fixed_.end(), is_it) ||
           std::any_of(feeds_.begin(), feeds_.end(), is_it);
  }

  /// Inputs that have no source yet.
  std::vector<const InputSpec*> missing() const {
    std::vector<const InputSpec*> specs;
    for (const InputSpec& input : inputs_) {
      if (!is_given(input.name)) specs.push_back(&input);
    }
    return specs;
  }

  bool is_input(const std::string& name) const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [&](const InputSpec& input) { return input.name == name; });
  }

  /// Throws if a label file is given: it is only supported for folders and lists of images.
  void refuse_labels() const {
    SPARSEBIT_CHECK(request_.labels.empty(), InvalidArgument, request_.labels.string(),
                    ": label files are only supported for folders and lists of images, not for ",
                    request_.path.string());
  }

  void add_fixed(const std::string& input, const std::string& text, const fs::path& beside) {
    with_context([&] { fixed_.push_back({input, fixed_value(text, beside)}); },
                 [&] { return "for the input '" + input + "'"; });
  }

  void add_feed(const std::string& input, std::shared_ptr<const io::Dataset> samples,
                const std::optional<PreprocessChoice>& preprocess) {
    for (const std::string& note : samples->notes()) notes_.push_back(note);
    feeds_.push_back({.input = input, .samples = std::move(samples)});
    preprocess ? prepare_as_told(feeds_.back(), *preprocess) : prepare_by_guess(feeds_.back());
  }

  const InputSpec* spec_of(const std::string& input) const {
    const auto found = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const InputSpec& spec) { return spec.name == input; });
    return found == inputs_.end() ? nullptr : &*found;  // ModelData reports unknown names
  }

  void prepare_as_told(InputFeed& feed, const PreprocessChoice& choice) const {
    feed.preset = choice.preset;
    feed.preprocess =
        choice.preset.empty() ? choice.settings : io::preprocess_preset(choice.preset);
    const InputSpec* spec = spec_of(feed.input);
    const auto image = spec ? image_input(*spec) : std::nullopt;
    if (!choice.preset.empty() && choice.preset != "none" && spec && spec->info && image)
      feed.preprocess = fitted(feed.preprocess, *image);
  }

  void prepare_by_guess(InputFeed& feed) const {
    if (!request_.facts || !spec_of(feed.input)) return;
    const at::Tensor first = feed.samples->get(0).data;
    const bool is_image = first.scalar_type() == at::kByte && first.dim() == 3 &&
                          (first.size(0) == 1 || first.size(0) == 3);
    if (!is_image || !image_input(*spec_of(feed.input))) return;
    const ModelFacts facts = request_.facts();
    const InputSpec* spec = spec_of(feed.input);
    for (const InputSpec& known : facts.inputs) {
      if (known.name == feed.input) spec = &known;
    }
    const PreprocessGuess guess =
        guess_preprocess(facts, *spec, {first.size(0), first.size(1), first.size(2)});
    feed.preset = guess.preset;
    feed.preprocess = guess.settings;
    feed.guessed_from = guess.because;
  }

  // --- kinds of sources --------------------------------------------------------------------------

  void open_only_input() {
    std::vector<const InputSpec*> open = missing();
    if (open.size() > 1)
      std::erase_if(open, [](const InputSpec* input) { return input->has_default; });
    std::string names;
    for (const InputSpec* input : open) names += (names.empty() ? "" : ", ") + input->name;
    SPARSEBIT_CHECK(open.size() == 1, InvalidArgument, request_.path.string(),
                    ": holds data for one input, but the model needs data for ", open.size(), ": ",
                    names,
                    "; give an .npz file or a folder with arrays of these names, a manifest, or "
                    "--input NAME=ones");
    add_feed(open.front()->name, io::open_dataset(request_.path, request_.labels),
             request_.preprocess);
  }

  /// Does nothing and returns false when no array has the name of an input.
  bool open_archive() {
    const NamedTensors arrays = io::load_npz(request_.path);
    const std::vector<const InputSpec*> open = missing();
    const bool by_name = std::any_of(open.begin(), open.end(), [&](const InputSpec* input) {
      return arrays.contains(input->name);
    });
    if (!by_name) return false;
    refuse_labels();
    const at::Tensor* labels = is_input("labels") ? nullptr : arrays.find("labels");
    if (!labels && !is_input("y")) labels = arrays.find("y");
    std::vector<std::string> names;
    for (const auto& entry : arrays) names.push_back(entry.key());
    for (const InputSpec* input : open) {
      const at::Tensor* samples = arrays.find(input->name);
      if (!samples && input->has_default) continue;
      SPARSEBIT_CHECK(samples, InvalidArgument, request_.path.string(), ": contains no array '",
                      input->name, "'", did_you_mean(input->name, names));
      add_feed(input->name,
               io::dataset_of(*samples, labels && feeds_.empty() ? *labels : at::Tensor(),
                              "the array '" + input->name + "'"),
               request_.preprocess);
    }
    return true;
  }

  bool has_part_for_input(const fs::path& folder) const {
    return std::any_of(inputs_.begin(), inputs_.end(), [&](const InputSpec& input) {
      return is_there(folder / (input.name + ".npy")) || is_folder(folder / input.name);
    });
  }

  void open_folder() {
    for (const InputSpec* input : missing()) {
      const fs::path array = request_.path / (input->name + ".npy");
      const fs::path folder = request_.path / input->name;
      const bool is_array = is_there(array);
      if (!is_array && !is_there(folder) && input->has_default) continue;
      SPARSEBIT_CHECK(is_array || is_there(folder), InvalidArgument, request_.path.string(),
                      ": contains neither a file ", input->name, ".npy nor a folder ", input->name);
      add_feed(input->name, io::open_dataset(is_array ? array : folder, request_.labels),
               request_.preprocess);
    }
  }

  void open_texts(const fs::path& file, const fs::path& tokenizer_file) {
    SPARSEBIT_CHECK(
        !tokenizer_file.empty(), InvalidArgument, file.string(),
        ": texts need a tokenizer; give --tokenizer with a tokenizer.json or vocab.txt");
    refuse_labels();
    const auto tokenizer = text::load_tokenizer(tokenizer_file);
    const auto samples = std::make_shared<const TextSamples>(
        read_texts(file, *tokenizer, most_tokens(), request_.text_part));
    if (samples->truncated > 0)
      notes_.push_back(c10::str(samples->truncated, " of ", samples->encodings.size(),
                                " texts are truncated to ", most_tokens(), " tokens"));
    for (const InputSpec* input : missing()) {
      const auto role = token_role(input->name);
      if (!role && input->has_default) continue;
      SPARSEBIT_CHECK(role, InvalidArgument, "the input '", input->name,
                      "' cannot be computed from texts (only input_ids, attention_mask, "
                      "token_type_ids and position_ids can); give it with --input ",
                      input->name, "=ones, or in a manifest");
      add_feed(input->name, token_dataset(samples, *role), PreprocessChoice{});
      feeds_.back().padding =
          *role == TokenRole::Ids ? static_cast<double>(tokenizer->pad_id()) : 0;
    }
  }

  /// The smallest fixed length of the model's token inputs, otherwise the requested maximum.
  int64_t most_tokens() const {
    int64_t most = std::numeric_limits<int64_t>::max();
    for (const InputSpec& input : inputs_) {
      const bool is_fixed = token_role(input.name) && input.info && input.info->shape.size() == 2 &&
                            input.info->shape[1] >= 0;
      if (is_fixed) most = std::min(most, input.info->shape[1]);
    }
    return most == std::numeric_limits<int64_t>::max() ? request_.max_length : most;
  }

  // --- manifests ---------------------------------------------------------------------------------

  /// inputs: {NAME: {data: PATH, preprocess: PRESET or map} or {value: ones}}, text, tokenizer,
  /// labels
  void open_manifest() {
    const Yaml manifest = read_yaml(request_.path);
    const fs::path folder = request_.path.parent_path();
    check_keys(manifest, {"inputs", "text", "tokenizer", "labels"});
    const auto path_at = [&](const char* key) {
      const Yaml* value = manifest.find(key);
      return value ? folder / value->to_text() : fs::path();
    };
    const fs::path labels = path_at("labels");
    if (const Yaml* inputs = manifest.find("inputs")) {
      for (const auto& [input, source] : inputs->entries()) open_entry(input, source, labels);
    }
    const fs::path tokenizer = path_at("tokenizer");
    if (manifest.find("text"))
      open_texts(path_at("text"), tokenizer.empty() ? request_.tokenizer : tokenizer);
  }

  void open_entry(const std::string& input, const Yaml& source, const fs::path& labels) {
    check_keys(source, {"data", "preprocess", "value"});
    const fs::path folder = request_.path.parent_path();
    if (const Yaml* value = source.find("value")) {
      add_fixed(input, value->to_text(), folder);
      return;
    }
    auto samples = io::open_dataset(folder / source.get("data").to_text(),
                                    feeds_.empty() ? labels : fs::path());
    add_feed(input, std::move(samples), preprocess_of(source.find("preprocess")));
  }

  /// Step by step: g++ 12 destroys a member twice if an initializer of a temporary throws.
  std::optional<PreprocessChoice> preprocess_of(const Yaml* value) const {
    if (!value) return request_.preprocess;
    PreprocessChoice choice;
    if (value->is_map()) {
      choice.settings = io::read_preprocess(*value);
    } else {
      choice.preset = value->to_text();
    }
    return choice;
  }

  static void check_keys(const Yaml& map, const std::vector<std::string>& known) {
    for (const auto& [key, value] : map.entries()) {
      SPARSEBIT_CHECK(std::find(known.begin(), known.end(), key) != known.end(), InvalidArgument,
                      value.where(), ": unknown key '", key, "'", did_you_mean(key, known));
    }
  }

  const DataRequest& request_;
  const std::vector<InputSpec>& inputs_;
  std::vector<InputFeed> feeds_;
  std::vector<FixedInput> fixed_;
  std::vector<std::string> notes_;
};

}  // namespace

ModelData open_data(const DataRequest& request, const std::vector<InputSpec>& inputs) {
  return DataOpener(request, inputs).open();
}

}  // namespace sparsebit::data
