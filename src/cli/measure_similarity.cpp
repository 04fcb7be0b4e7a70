#include "cli/measure_similarity.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::cli {
namespace {

using Outputs = std::vector<metrics::NamedOutput>;

/// The index of the reference's output for each output of the model: same name, else same position.
std::vector<size_t> pairing(const Outputs& found, const Outputs& reference) {
  std::vector<size_t> by_name, by_place;
  for (const metrics::NamedOutput& output : found) {
    const auto same = std::find_if(reference.begin(), reference.end(),
                                   [&](const auto& other) { return other.name == output.name; });
    by_place.push_back(by_place.size());
    if (same != reference.end()) by_name.push_back(static_cast<size_t>(same - reference.begin()));
  }
  if (by_name.size() == found.size()) return by_name;
  SPARSEBIT_CHECK(found.size() == reference.size(), InvalidArgument,
                  "the two models have different outputs: ", metrics::describe(found),
                  "; --against: ", metrics::describe(reference));
  return by_place;
}

}  // namespace

ReferenceInputs::ReferenceInputs(const std::vector<data::InputSpec>& model,
                                 const std::vector<data::InputSpec>& reference) {
  for (size_t i = 0; i < reference.size(); ++i) {
    const auto same = std::find_if(model.begin(), model.end(), [&](const data::InputSpec& spec) {
      return spec.name == reference[i].name;
    });
    const bool is_known = same != model.end() || model.size() == reference.size();
    SPARSEBIT_CHECK(is_known || reference[i].has_default, InvalidArgument,
                    "--against: the model has no input '", reference[i].name, "'");
    if (!is_known) break;  // the reference uses its default
    sources_.push_back(
        {same != model.end() ? static_cast<size_t>(same - model.begin()) : i, reference[i]});
  }
}

std::vector<at::Tensor> ReferenceInputs::of(const std::vector<at::Tensor>& inputs) const {
  std::vector<at::Tensor> result;
  for (const Source& source : sources_) {
    if (source.position >= inputs.size()) break;  // both models use their defaults
    const at::Tensor& input = inputs[source.position];
    result.push_back(source.spec.info ? input.to(source.spec.info->dtype) : input);
  }
  return result;
}

int64_t common_batch(const ModelRunner& model, const ModelRunner& reference) {
  const int64_t one = model.fixed_batch(), other = reference.fixed_batch();
  SPARSEBIT_CHECK(one == 0 || other == 0 || one == other, InvalidArgument,
                  "the model has a fixed batch size of ", one, ", but that of --against is ",
                  other);
  return std::max(one, other);
}

std::vector<SimilarOutput> measure_similarity(ModelRunner& model, ModelRunner& reference,
                                              const PreparedData& data,
                                              const ProgressOptions& shown) {
  const int64_t fixed = common_batch(model, reference);
  const int64_t reading = data.step(fixed), step = fixed > 0 ? fixed : reading;
  const ReferenceInputs inputs(model.inputs(), reference.inputs());
  std::vector<std::string> names;
  std::vector<metrics::OutputSimilarity> meters;
  Progress progress("comparing", data.size(), shown);
  for (int64_t start = 0; start < data.size(); start += step) {
    const PreparedData::Batch batch = data.batch(start, step);
    const Outputs found = model.run_named(batch.inputs);
    const Outputs expected = reference.run_named(inputs.of(batch.inputs));
    const std::vector<size_t> pairs = pairing(found, expected);
    meters.resize(found.size());
    names.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      names[i] = found[i].name;
      meters[i].add(expected[pairs[i]].tensor, found[i].tensor, batch.size);
    }
    progress.advance(batch.size);
  }
  progress.finish();
  std::vector<SimilarOutput> result;
  for (size_t i = 0; i < names.size(); ++i) result.push_back({names[i], meters[i].result()});
  const bool compared = std::any_of(result.begin(), result.end(), [](const SimilarOutput& output) {
    return output.similarity.samples > 0;
  });
  SPARSEBIT_CHECK(compared, InvalidArgument,
                  "no output can be compared with --against: the shapes of all outputs differ");
  return result;
}

}  // namespace sparsebit::cli
