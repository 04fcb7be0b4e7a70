#include "cli/accuracy.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::cli {
namespace {

double percent(int64_t hits, int64_t of) {
  return 100. * static_cast<double>(hits) / static_cast<double>(std::max<int64_t>(1, of));
}

at::Tensor scores_of(ModelRunner& model, const PreparedData::Batch& batch) {
  const at::Tensor scores = model.run(batch.inputs).front();
  const int64_t classes = scores.dim() > 1 ? scores.numel() / scores.size(0) : 0;
  const bool is_row = classes > 0 && scores.size(1) == classes && scores.size(0) == batch.size;
  SPARSEBIT_CHECK(is_row, InvalidArgument, "the model gives ", scores.sizes(), " for a batch of ",
                  batch.size, "; accuracy needs a score for each class");
  return scores.flatten(1);
}

/// @param start  of the batch among the samples, for messages.
void count_hits(const at::Tensor& scores, const std::vector<int64_t>& labels, int64_t start,
                Accuracy& found) {
  found.classes = scores.size(1);
  const at::Tensor best = std::get<1>(scores.topk(std::min<int64_t>(5, found.classes), 1));
  for (int64_t i = 0; i < scores.size(0); ++i) {
    const int64_t label = labels.at(static_cast<size_t>(i));
    SPARSEBIT_CHECK(label >= 0 && label < found.classes, InvalidArgument, "sample ", start + i,
                    " has class ", label, ", and the model gives scores for ", found.classes,
                    " classes");
    const at::Tensor hits = best[i].eq(label);
    found.first += hits[0].item<bool>() ? 1 : 0;
    found.among_five += hits.any().item<bool>() ? 1 : 0;
    ++found.samples;
  }
}

}  // namespace

double Accuracy::top1() const { return percent(first, samples); }
double Accuracy::top5() const { return percent(among_five, samples); }

std::string near_chance_warning(const Accuracy& accuracy) {
  if (accuracy.classes < 2 || accuracy.samples == 0) return "";
  const auto samples = static_cast<double>(accuracy.samples);
  const double chance = 1. / static_cast<double>(accuracy.classes);
  const double spread = std::sqrt(chance * (1 - chance) / samples);
  // Two deviations of a guesser, who is right about once in as many samples as there are classes.
  if (accuracy.top1() / 100 > chance + 2 * spread) return "";
  return fmt::format(
      "the float model is right for {:.1f} % of {}, and chance is {:.1f} % for {} classes: "
      "are preprocessing and labels right?",
      accuracy.top1(), how_many(accuracy.samples, "sample"), 100 * chance, accuracy.classes);
}

Accuracy measure_accuracy(ModelRunner& model, const PreparedData& data,
                          const ProgressOptions& shown, int64_t most) {
  SPARSEBIT_CHECK(data.has_labels(), InvalidArgument,
                  "there are no labels; give --labels, or folders that are classes");
  const int64_t fixed = model.fixed_batch();
  const int64_t reading = data.step(fixed);  // throws when the model's batch does not divide them
  const int64_t step = fixed > 0 ? fixed : reading;
  int64_t count = most > 0 ? std::min(data.size(), most) : data.size();
  if (fixed > 0) count = std::max(fixed, count / fixed * fixed);
  Progress progress("evaluating", count, shown);
  Accuracy found;
  for (int64_t start = 0; start < count; start += step) {
    const PreparedData::Batch batch = data.batch(start, std::min(step, count - start));
    count_hits(scores_of(model, batch), batch.labels, start, found);
    progress.advance(batch.size);
  }
  progress.finish();
  return found;
}

}  // namespace sparsebit::cli
