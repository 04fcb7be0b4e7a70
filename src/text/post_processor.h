#pragma once

#include "sparsebit/text/tokenizer.h"

#include <nlohmann/json_fwd.hpp>

namespace sparsebit::text {

/// Puts the special tokens of a model around one text or two: [CLS] A [SEP] B [SEP].
class PostProcessor {
 public:
  /// A text, or special tokens.
  struct Item {
    enum class Kind { First, Second, Special } kind;
    int64_t type_id = 0;
    std::vector<int64_t> ids = {};  ///< of special tokens
  };

  /// The texts as they are.
  PostProcessor();
  PostProcessor(std::vector<Item> single, std::vector<Item> pair);

  /// Cuts the texts so that no more than `length` ids come out, if it is not 0. Throws
  /// InvalidArgument when special tokens alone are more.
  Encoding operator()(std::vector<int64_t> first, const std::vector<int64_t>* second,
                      int64_t length) const;

 private:
  std::vector<Item> single_, pair_;
};

/// From the `post_processor` of a tokenizer.json. Throws Unsupported for types that are not known.
PostProcessor read_post_processor(const nlohmann::json& json);

/// [CLS] A [SEP], [CLS] A [SEP] B [SEP], the second text of type 1.
PostProcessor bert_post_processor(int64_t cls, int64_t sep);
/// <s> A </s>, <s> A </s> </s> B </s>
PostProcessor roberta_post_processor(int64_t cls, int64_t sep);

}  // namespace sparsebit::text
