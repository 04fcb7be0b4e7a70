#pragma once

#include "sparsebit/data/model_data.h"
#include "sparsebit/data/model_facts.h"
#include "sparsebit/data/text_lines.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/io/preprocess.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options of commands that read data.
struct DataOptions {
  std::string data;
  std::string labels;
  std::string preprocess = {};  ///< a preset, or a YAML file; empty when not told
  std::string tokenizer = {};   ///< file or folder; empty: beside the model
  int64_t max_length = 512;     ///< tokens of a text
  data::TextPart text_part = data::TextPart::Both;  ///< of lines with two texts; not an option
  std::vector<std::string> fixed = {};   ///< NAME=ones, NAME=zeros, NAME=0.5 or NAME=FILE.npy
  std::vector<std::string> shapes = {};  ///< of inputs that the model leaves open, see --shape
  int64_t samples = 0;                   ///< 0 = all
  int64_t batch_size = 8;
  bool random = false;  ///< random numbers instead of data
};

void add_data_options(CLI::App& command, DataOptions& options);

/// Samples of a data set, made ready for a model.
class PreparedData {
 public:
  using Batch = data::ModelData::Batch;

  /// @param source  the model as written on the command line.
  /// @param seed  decides which samples are taken if not all are.
  /// @param preprocess  what is done unless the options say.
  /// @param facts  of the model: for images, when neither of them says, and for random numbers.
  PreparedData(const DataOptions& options, const std::vector<data::InputSpec>& inputs,
               const std::string& source, uint64_t seed,
               const std::optional<io::Preprocess>& preprocess = {},
               const std::function<data::ModelFacts()>& facts = {});

  int64_t size() const { return static_cast<int64_t>(chosen_.size()); }
  bool has_all() const { return size() == data_.size(); }
  /// How many samples to read at a time for a model that takes `fixed` at once (0: any number); one
  /// where samples differ in length. Throws InvalidArgument when that does not divide their number.
  int64_t step(int64_t fixed) const;
  /// At most this many at a time, with the same exceptions.
  int64_t at_most(int64_t count, int64_t fixed) const;
  bool has_labels() const { return data_.has_labels(); }
  bool is_ragged() const { return data_.is_ragged(); }
  /// Of the samples that Batch::stored describes.
  const io::Preprocess& stored_preprocess() const { return data_.feeds().front().preprocess; }
  bool is_random() const { return is_random_; }
  /// Of the images, or of the first input that is prepared at all.
  const data::InputFeed& prepared_feed() const;
  const io::Preprocess& preprocess() const { return prepared_feed().preprocess; }
  /// "imagenet (guessed from a 3x224x224 input and 1000 classes; --preprocess NAME sets it)"
  std::string preprocess_text() const;
  const data::ModelData& model_data() const { return data_; }
  /// What was warned about when it was opened.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Whether samples are stored as bytes.
  bool has_bytes() const;

  /// Samples from `start` on, at most `count`, read by several threads. An error names the sample.
  Batch batch(int64_t start, int64_t count) const;

 private:
  void warn(std::string text);

  std::string preprocess_name_;  // a preset, a file, or empty
  data::ModelData data_;
  std::vector<std::string> warnings_;
  bool is_random_;
  std::vector<int64_t> chosen_;  // ascending
  int64_t batch_size_;
};

/// The tokenizer that lies in the model's folder or in the one around it; empty when there is none.
std::string tokenizer_beside(const std::string& model);

/// What a model runs on.
std::vector<fx::Value> values_of(const std::vector<at::Tensor>& inputs);

/// Throws InvalidArgument when samples are not what the inputs of the model take.
void check_fits(const fx::GraphModule& module, const std::vector<at::Tensor>& batch,
                const std::string& source);

/// "imagenet, timm, ...", for help texts.
std::string preset_names();

/// A check for options that take a preset or a YAML file: near presets where it is neither.
std::string known_preprocess(const std::string& preset_or_file);

/// A preset by name, or settings from a YAML file.
io::Preprocess preprocess_of(const std::string& preset_or_file);

}  // namespace sparsebit::cli
