#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct BertOptions {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t max_positions = 512;
};

/// BERT encoder with embeddings and pooler, with the module names of Hugging Face's BertModel; the
/// defaults are BERT-base. Inputs: input_ids [N, T], token_type_ids [N, T], attention_mask [N, T]
/// (1 = keep). Returns (last hidden state, pooled output).
nn::ModulePtr bert(const BertOptions& options = {});

}  // namespace sparsebit::zoo
