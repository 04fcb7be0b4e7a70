#pragma once

#include "sparsebit/metrics/named_output.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// How an output is pooled into one vector per sample.
enum class Pooling {
  Given,  ///< already pooled by the model: [batch, size]
  Mean,   ///< [batch, tokens, size]: mean over the tokens that are not padding
  First,  ///< [batch, tokens, size]: the first token
};

/// The output that holds a model's embedding, and its pooling.
struct EmbeddingOutput {
  std::string output;
  Pooling pooling = Pooling::Given;
};

/// Finds the embedding by names and shapes: sentence_embedding, text_embeds, image_embeds and
/// similar if pooled; otherwise the mean over the tokens of last_hidden_state or token_embeddings;
/// otherwise pooler_output. nullopt when there is none of these.
/// @param any_tokens  accept any output of three axes as token embeddings, except logits.
std::optional<EmbeddingOutput> find_embedding(const std::vector<NamedOutput>& outputs,
                                              bool any_tokens = false);

/// "mean over the tokens of 'last_hidden_state'"
std::string describe(const EmbeddingOutput& embedding);

/// The embeddings as float64 [batch, size], normalized to length 1 (zero vectors stay zero).
/// @param mask  [batch, tokens], 0 for padding; an undefined tensor for none.
/// Throws InvalidArgument when the output does not exist or its shape does not fit.
at::Tensor embed(const EmbeddingOutput& embedding, const std::vector<NamedOutput>& outputs,
                 const at::Tensor& mask);

/// The cosine of each pair of rows, in the order of the upper triangle of the similarity matrix.
std::vector<double> pair_similarities(const at::Tensor& embeddings);

}  // namespace sparsebit::metrics
