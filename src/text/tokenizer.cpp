#include "sparsebit/text/tokenizer.h"

#include "text/added_tokens.h"
#include "text/json_fields.h"
#include "text/normalizers.h"
#include "text/post_processor.h"
#include "text/pre_tokenizers.h"
#include "text/subword_model.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <algorithm>
#include <sstream>

namespace sparsebit::text {
namespace {

namespace fs = std::filesystem;

/// The components of a tokenizer, in the order in which they are applied.
struct Steps {
  AddedTokens raw;  ///< matched in the raw text
  Normalizer normalize;
  AddedTokens normalized;  ///< matched in the normalized text
  PreTokenizer split;
  SubwordModelPtr model;
  PostProcessor finish;
  int64_t pad_id = 0;
};

class StepTokenizer : public Tokenizer {
 public:
  explicit StepTokenizer(Steps steps) : steps_(std::move(steps)) {}

  Encoding encode(const std::string& text, const std::optional<std::string>& pair,
                  int64_t length) const override {
    if (!pair) return steps_.finish(ids_of(text), nullptr, length);
    const std::vector<int64_t> second = ids_of(*pair);
    return steps_.finish(ids_of(text), &second, length);
  }

  int64_t size() const override {
    int64_t most = 0;
    for (const auto& [token, id] : steps_.model->vocabulary()) most = std::max(most, id + 1);
    for (const AddedTokens* added : {&steps_.raw, &steps_.normalized}) {
      for (const auto& [text, token] : added->tokens()) most = std::max(most, token.id + 1);
    }
    return most;
  }

  int64_t pad_id() const override { return steps_.pad_id; }

  std::optional<int64_t> id_of(const std::string& token) const override {
    if (const auto id = steps_.raw.find(token)) return id;
    if (const auto id = steps_.normalized.find(token)) return id;
    return steps_.model->find(token);
  }

 private:
  std::vector<int64_t> ids_of(const std::string& text) const {
    std::vector<int64_t> ids;
    bool starts = true;
    for (const AddedTokens::Part& part : steps_.raw.split(text)) {
      if (part.id) ids.push_back(*part.id);
      if (!part.id) add_text(steps_.normalize(part.text), starts, ids);
      starts = false;
    }
    return ids;
  }

  void add_text(const std::string& text, bool starts, std::vector<int64_t>& ids) const {
    for (const AddedTokens::Part& part : steps_.normalized.split(text)) {
      if (part.id) {
        ids.push_back(*part.id);
      } else if (!part.text.empty()) {
        for (const Piece& word : steps_.split({part.text, starts}))
          steps_.model->split(word.text, ids);
      }
      starts = false;
    }
  }

  Steps steps_;
};

using TokenizerPtr = std::unique_ptr<Tokenizer>;

/// The padding id where the file has none: the first of these tokens that exists, or 0.
int64_t usual_pad_id(const Steps& steps) {
  for (const char* token : {"[PAD]", "<pad>", "<|endoftext|>", "</s>"}) {
    for (const auto& id :
         {steps.raw.find(token), steps.normalized.find(token), steps.model->find(token)}) {
      if (id) return *id;
    }
  }
  return 0;
}

/// The value of a key; null when it is missing.
const nlohmann::json& part(const nlohmann::json& json, const char* key) {
  static const nlohmann::json none;
  return json.contains(key) ? json.at(key) : none;
}

/// Throws InvalidArgument for a file that is not a JSON object, or nested too deeply.
nlohmann::json parse_json(const fs::path& file) {
  static constexpr int kMostLevels = 64;
  const auto check_depth = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    SPARSEBIT_CHECK(depth < kMostLevels, InvalidArgument, "nested deeper than ", kMostLevels,
                    " levels");
    return true;
  };
  nlohmann::json json = nlohmann::json::parse(read_file(file), check_depth, false);
  SPARSEBIT_CHECK(json.is_object(), InvalidArgument, "not a JSON object");
  return json;
}

TokenizerPtr read_json(const fs::path& file) {
  const nlohmann::json json = parse_json(file);
  const Normalizer normalizer = read_normalizer(part(json, "normalizer"));
  Steps steps{.raw = read_added_tokens(part(json, "added_tokens"), nullptr),
              .normalize = normalizer,
              .normalized = read_added_tokens(part(json, "added_tokens"), &normalizer),
              .split = read_pre_tokenizer(part(json, "pre_tokenizer")),
              .model = read_subword_model(field(json, "model")),
              .finish = read_post_processor(part(json, "post_processor"))};
  const nlohmann::json& padding = part(json, "padding");
  steps.pad_id =
      is_told(padding, "pad_id") ? token_id(padding.at("pad_id"), "pad_id") : usual_pad_id(steps);
  return std::make_unique<StepTokenizer>(std::move(steps));
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream stream(read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

/// Whether the vocabulary has capital letters, ignoring special tokens like [CLS]. If so, the model
/// is cased: texts are not converted to lower case.
bool has_capitals(const Vocabulary& vocabulary) {
  return std::any_of(vocabulary.begin(), vocabulary.end(), [](const auto& entry) {
    const std::string& token = entry.first;
    const bool is_special = token.starts_with('[') && token.ends_with(']');
    return !is_special &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

/// The given tokens that the vocabulary has.
std::map<std::string, AddedTokens::Token> special_tokens(const SubwordModel& model,
                                                         std::initializer_list<const char*> names) {
  std::map<std::string, AddedTokens::Token> found;
  for (const char* name : names) {
    if (const auto id = model.find(name)) found.emplace(name, AddedTokens::Token{*id});
  }
  return found;
}

/// vocab.txt of BERT, one token per line.
TokenizerPtr read_bert_vocabulary(const fs::path& file) {
  Vocabulary vocabulary;
  for (const std::string& token : lines_of(file)) {
    const auto id = static_cast<int64_t>(vocabulary.size());
    SPARSEBIT_CHECK(vocabulary.emplace(token, id).second, InvalidArgument, "line ", id + 1,
                    ": duplicate token '", token, "'");
  }
  const bool lowercase = !has_capitals(vocabulary);
  Steps steps{.raw = AddedTokens(),
              .normalize = BertNormalizer{.strip_accents = lowercase, .lowercase = lowercase},
              .normalized = AddedTokens(),
              .split = bert_words,
              .model = make_word_piece(std::move(vocabulary)),
              .finish = {}};
  steps.raw =
      AddedTokens(special_tokens(*steps.model, {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}));
  steps.finish = bert_post_processor(steps.model->get("[CLS]"), steps.model->get("[SEP]"));
  steps.pad_id = usual_pad_id(steps);
  return std::make_unique<StepTokenizer>(std::move(steps));
}

/// vocab.json and merges.txt of GPT-2 and RoBERTa.
TokenizerPtr read_byte_pairs(const fs::path& file) {
  const fs::path merges_file = file.parent_path() / "merges.txt";
  SPARSEBIT_CHECK(fs::exists(merges_file), Io, "no merges.txt in the same folder");
  nlohmann::json model = {{"type", "BPE"}, {"merges", nlohmann::json::array()}};
  model["vocab"] = parse_json(file);
  for (const auto& [token, id] : model["vocab"].items()) {
    SPARSEBIT_CHECK(!token.ends_with("</w>"), Unsupported,
                    "the vocabulary of CLIP is not supported; give its tokenizer.json");
  }
  for (const std::string& line : lines_of(merges_file)) {
    if (!line.empty() && !line.starts_with("#version")) model["merges"].push_back(line);
  }
  Steps steps{.raw = AddedTokens(),
              .normalize = read_normalizer(nullptr),
              .normalized = AddedTokens(),
              .split = byte_level(/*add_prefix_space=*/false),
              .model = read_subword_model(model),
              .finish = {}};
  auto special =
      special_tokens(*steps.model, {"<s>", "</s>", "<pad>", "<unk>", "<mask>", "<|endoftext|>"});
  if (special.contains("<s>") && special.contains("</s>"))
    steps.finish = roberta_post_processor(special.at("<s>").id, special.at("</s>").id);
  steps.raw = AddedTokens(std::move(special));
  steps.pad_id = usual_pad_id(steps);
  return std::make_unique<StepTokenizer>(std::move(steps));
}

fs::path file_in(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json"}) {
    if (fs::is_regular_file(folder / name)) return folder / name;
  }
  throw Error(ErrorKind::Io,
              folder.string() + ": contains no tokenizer.json, vocab.txt or vocab.json");
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& file_or_folder) {
  std::error_code unreadable;  // ignored here: reading the file reports it
  const bool is_folder = fs::is_directory(file_or_folder, unreadable);
  const fs::path file = is_folder ? file_in(file_or_folder) : file_or_folder;
  return with_context(
      [&] {
        if (file.extension() == ".txt") return read_bert_vocabulary(file);
        return file.filename() == "vocab.json" ? read_byte_pairs(file) : read_json(file);
      },
      [&] { return "while reading the tokenizer " + file.string(); });
}

}  // namespace sparsebit::text
