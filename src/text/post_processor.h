#pragma once

#include "sparsebit/text/tokenizer.h"

#include <nlohmann/json_fwd.hpp>

namespace sparsebit::text {

/// Adds a model's special tokens to one text or a pair: [CLS] A [SEP] B [SEP].
class PostProcessor {
 public:
  /// A text or special tokens in a template.
  struct Item {
    enum class Kind { First, Second, Special } kind;
    int64_t type_id = 0;
    std::vector<int64_t> ids = {};  ///< of special tokens
  };

  /// Adds no special tokens.
  PostProcessor();
  PostProcessor(std::vector<Item> single, std::vector<Item> pair);

  /// Truncates the texts to at most `length` ids in total, unless it is 0. Throws InvalidArgument
  /// when the special tokens alone exceed it.
  Encoding operator()(std::vector<int64_t> first, const std::vector<int64_t>* second,
                      int64_t length) const;

 private:
  std::vector<Item> single_, pair_;
};

/// Reads the `post_processor` of a tokenizer.json. Throws Unsupported for unknown types.
PostProcessor read_post_processor(const nlohmann::json& json);

/// [CLS] A [SEP], [CLS] A [SEP] B [SEP], the second text of type 1.
PostProcessor bert_post_processor(int64_t cls, int64_t sep);
/// <s> A </s>, <s> A </s> </s> B </s>
PostProcessor roberta_post_processor(int64_t cls, int64_t sep);

}  // namespace sparsebit::text
