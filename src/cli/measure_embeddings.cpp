#include "cli/measure_embeddings.h"

#include "cli/measure_similarity.h"

#include "sparsebit/core/error.h"
#include "sparsebit/metrics/correlation.h"
#include "sparsebit/metrics/embedding.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::cli {
namespace {

constexpr int64_t kMostSamples = 1000;  // half a million pairs

/// 1 where there is a token: the model's mask input, otherwise from the lengths of the texts.
at::Tensor mask_of(ModelRunner& model, const PreparedData::Batch& batch) {
  const std::vector<data::InputSpec> inputs = model.inputs();
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const bool is_mask = inputs[i].name.find("mask") != std::string::npos;
    if (is_mask && batch.inputs[i].dim() == 2) return batch.inputs[i];
  }
  for (const at::Tensor& input : batch.inputs) {
    if (input.dim() != 2) continue;
    at::Tensor mask = at::zeros(input.sizes(), at::kLong);
    for (int64_t row = 0; row < std::min(input.size(0), std::ssize(batch.stored)); ++row) {
      const std::vector<int64_t>& sizes = batch.stored[static_cast<size_t>(row)].sizes;
      if (sizes.size() != 1) return {};
      mask[row].narrow(0, 0, std::min(sizes[0], input.size(1))).fill_(1);
    }
    return mask;
  }
  return {};
}

std::optional<metrics::EmbeddingOutput> embedding_of(
    const std::vector<metrics::NamedOutput>& outputs, bool are_texts, const std::string& pooling) {
  auto found = metrics::find_embedding(outputs, are_texts);
  const bool has_tokens = found && found->pooling == metrics::Pooling::Mean;
  if (has_tokens && pooling == "first") found->pooling = metrics::Pooling::First;
  return found;
}

metrics::EmbeddingOutput required_embedding(const std::vector<metrics::NamedOutput>& outputs,
                                            const std::string& pooling) {
  const auto found = embedding_of(outputs, /*are_texts=*/true, pooling);
  SPARSEBIT_CHECK(
      found, InvalidArgument,
      "text pairs with scores need a model with an embedding output (last_hidden_state, "
      "sentence_embedding, pooler_output, ...); found ",
      metrics::describe(outputs));
  return *found;
}

int64_t batch_step(const PreparedData& data, int64_t fixed) {
  const int64_t reading = data.step(fixed);
  return fixed > 0 ? fixed : reading;
}

}  // namespace

Correlation measure_scored_pairs(ModelRunner& model, const PreparedData& first,
                                 const PreparedData& second, const std::vector<double>& scores,
                                 const std::string& pooling, const ProgressOptions& shown) {
  const int64_t step = batch_step(first, model.fixed_batch());
  std::optional<metrics::EmbeddingOutput> output;
  const auto embeddings = [&](const PreparedData::Batch& batch) {
    const std::vector<metrics::NamedOutput> outputs = model.run_named(batch.inputs);
    if (!output) output = required_embedding(outputs, pooling);
    return metrics::embed(*output, outputs, mask_of(model, batch));
  };
  std::vector<double> found, expected;
  Progress progress("embedding", first.size(), shown);
  for (int64_t start = 0; start < first.size(); start += step) {
    const PreparedData::Batch batch = first.batch(start, step);
    const at::Tensor cosines = (embeddings(batch) * embeddings(second.batch(start, step))).sum(1);
    for (int64_t i = 0; i < batch.size; ++i) {
      found.push_back(cosines[i].item<double>());
      expected.push_back(
          scores.at(static_cast<size_t>(batch.stored.at(static_cast<size_t>(i)).index)));
    }
    progress.advance(batch.size);
  }
  progress.finish();
  return {std::ssize(found), metrics::spearman(found, expected), metrics::pearson(found, expected),
          metrics::describe(*output)};
}

std::optional<Correlation> measure_agreement(ModelRunner& model, ModelRunner& reference,
                                             const PreparedData& data, bool are_texts,
                                             const std::string& pooling,
                                             const ProgressOptions& shown) {
  const int64_t fixed = common_batch(model, reference);
  const int64_t step = batch_step(data, fixed);
  const int64_t count = std::min(data.size(), std::max<int64_t>(1, kMostSamples / step) * step);
  const ReferenceInputs inputs(model.inputs(), reference.inputs());
  const PreparedData::Batch probe = data.batch(0, step);
  const auto output = embedding_of(model.run_named(probe.inputs), are_texts, pooling);
  const auto reference_output =
      embedding_of(reference.run_named(inputs.of(probe.inputs)), are_texts, pooling);
  if (!output || !reference_output) return std::nullopt;
  std::vector<at::Tensor> found, expected;
  Progress progress("embedding", count, shown);
  for (int64_t start = 0; start < count; start += step) {
    const PreparedData::Batch batch = data.batch(start, step);
    const at::Tensor mask = are_texts ? mask_of(model, batch) : at::Tensor();
    found.push_back(metrics::embed(*output, model.run_named(batch.inputs), mask));
    expected.push_back(
        metrics::embed(*reference_output, reference.run_named(inputs.of(batch.inputs)), mask));
    progress.advance(batch.size);
  }
  progress.finish();
  const std::vector<double> ours = metrics::pair_similarities(at::cat(found));
  const std::vector<double> theirs = metrics::pair_similarities(at::cat(expected));
  return Correlation{std::ssize(ours), metrics::spearman(ours, theirs),
                     metrics::pearson(ours, theirs), metrics::describe(*output)};
}

}  // namespace sparsebit::cli
