#include "sparsebit/metrics/embedding.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::metrics {
namespace {

bool has_part(const NamedOutput& output, const char* part) {
  return lower_case(output.name).find(part) != std::string::npos;
}

const NamedOutput* output_called(const std::vector<NamedOutput>& outputs, int64_t axes,
                                 std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    for (const NamedOutput& output : outputs) {
      if (output.tensor.dim() == axes && has_part(output, part)) return &output;
    }
  }
  return nullptr;
}

const NamedOutput* tokens_of(const std::vector<NamedOutput>& outputs, bool any_tokens) {
  const NamedOutput* named = output_called(outputs, 3, {"last_hidden_state", "embed", "hidden"});
  if (named || !any_tokens) return named;
  const auto first = std::find_if(outputs.begin(), outputs.end(), [](const NamedOutput& output) {
    return output.tensor.dim() == 3 && output.tensor.is_floating_point() &&
           !has_part(output, "logits");
  });
  return first == outputs.end() ? nullptr : &*first;
}

at::Tensor mean_over_tokens(const at::Tensor& tokens, const at::Tensor& mask) {
  if (!mask.defined()) return tokens.mean(1);
  const at::Tensor weights = mask.to(at::kDouble).unsqueeze(2);
  return (tokens * weights).sum(1) / weights.sum(1).clamp_min(1);
}

}  // namespace

std::optional<EmbeddingOutput> find_embedding(const std::vector<NamedOutput>& outputs,
                                              bool any_tokens) {
  if (const NamedOutput* pooled = output_called(outputs, 2, {"embed"}))
    return EmbeddingOutput{pooled->name, Pooling::Given};
  if (const NamedOutput* tokens = tokens_of(outputs, any_tokens))
    return EmbeddingOutput{tokens->name, Pooling::Mean};
  if (const NamedOutput* pooled = output_called(outputs, 2, {"pool"}))
    return EmbeddingOutput{pooled->name, Pooling::Given};
  return std::nullopt;
}

std::string describe(const EmbeddingOutput& embedding) {
  const std::string output = "'" + embedding.output + "'";
  if (embedding.pooling == Pooling::Mean) return "mean over the tokens of " + output;
  return embedding.pooling == Pooling::First ? "first token of " + output : output;
}

at::Tensor embed(const EmbeddingOutput& embedding, const std::vector<NamedOutput>& outputs,
                 const at::Tensor& mask) {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const NamedOutput& output) {
    return output.name == embedding.output;
  });
  SPARSEBIT_CHECK(found != outputs.end(), InvalidArgument, "there is no output '", embedding.output,
                  "'; the model outputs ", describe(outputs));
  const int64_t axes = embedding.pooling == Pooling::Given ? 2 : 3;
  SPARSEBIT_CHECK(found->tensor.dim() == axes, InvalidArgument, "the output '", embedding.output,
                  "' is ", found->tensor.sizes(), "; an embedding needs ",
                  axes == 2 ? "[batch, size]" : "[batch, tokens, size]");
  at::Tensor rows = found->tensor.to(at::kDouble);
  if (embedding.pooling == Pooling::Mean) {
    const bool fits = !mask.defined() || mask.sizes() == rows.sizes().slice(0, 2);
    rows = mean_over_tokens(rows, fits ? mask : at::Tensor());
  } else if (embedding.pooling == Pooling::First) {
    rows = rows.select(1, 0);
  }
  return rows / rows.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
}

std::vector<double> pair_similarities(const at::Tensor& embeddings) {
  const at::Tensor all = embeddings.matmul(embeddings.t());
  const at::Tensor places = at::triu_indices(all.size(0), all.size(1), 1);
  const at::Tensor pairs = all.index({places[0], places[1]}).contiguous();
  return {pairs.data_ptr<double>(), pairs.data_ptr<double>() + pairs.numel()};
}

}  // namespace sparsebit::metrics
