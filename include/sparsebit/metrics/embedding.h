#pragma once

#include "sparsebit/metrics/named_output.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// How an output becomes one vector for each sample.
enum class Pooling {
  Given,  ///< the model has done it: [batch, size]
  Mean,   ///< of [batch, tokens, size], over the tokens that are not padding
  First,  ///< of [batch, tokens, size], the first token
};

/// Which output holds a model's embedding, and how it is pooled.
struct EmbeddingOutput {
  std::string output;
  Pooling pooling = Pooling::Given;
};

/// By names and shapes: sentence_embedding, text_embeds, image_embeds and the like if they are
/// pooled; else the mean over the tokens of last_hidden_state or token_embeddings; else
/// pooler_output. Nothing when there is none of these.
/// @param any_tokens  an output of three axes is one of tokens, whatever it is called, except
///                    logits.
std::optional<EmbeddingOutput> find_embedding(const std::vector<NamedOutput>& outputs,
                                              bool any_tokens = false);

/// "mean over the tokens of 'last_hidden_state'"
std::string describe(const EmbeddingOutput& embedding);

/// float64 [batch, size], each of length 1 (0 stays 0).
/// @param mask  [batch, tokens], 0 where there is padding; undefined for none.
/// Throws InvalidArgument when there is no such output or its shape is another.
at::Tensor embed(const EmbeddingOutput& embedding, const std::vector<NamedOutput>& outputs,
                 const at::Tensor& mask);

/// The cosine of each pair of rows, as they follow each other in the upper triangle of the matrix.
std::vector<double> pair_similarities(const at::Tensor& embeddings);

}  // namespace sparsebit::metrics
