#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct Gpt2Options {
  int64_t vocab_size = 50257;
  int64_t context = 1024;
  int64_t embed_dim = 768;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
};

/// GPT-2 language model with the module names of Hugging Face's GPT2LMHeadModel; the defaults are
/// GPT-2 small. The token embedding and the output layer share one weight. Input: input_ids
/// [N, T]. Returns logits [N, T, vocabulary].
nn::ModulePtr gpt2(const Gpt2Options& options = {});

}  // namespace sparsebit::zoo
