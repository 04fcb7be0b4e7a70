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
  SPARSEBIT_CHECK(is_row, InvalidArgument,
                  "accuracy needs class scores; expected a first output of shape [", batch.size,
                  ", classes], found ", scores.sizes());
  return scores.flatten(1);
}

/// @param start  index of the batch's first sample, for error messages.
void count_hits(const at::Tensor& scores, const std::vector<int64_t>& labels, int64_t start,
                Accuracy& found) {
  found.classes = scores.size(1);
  const at::Tensor best = std::get<1>(scores.topk(std::min<int64_t>(5, found.classes), 1));
  for (int64_t i = 0; i < scores.size(0); ++i) {
    const int64_t label = labels.at(static_cast<size_t>(i));
    SPARSEBIT_CHECK(label >= 0 && label < found.classes, InvalidArgument, "sample ", start + i,
                    ": class ", label, " is out of range; the model has ", found.classes,
                    " classes (0 to ", found.classes - 1, ")");
    const at::Tensor hits = best[i].eq(label);
    found.first += hits[0].item<bool>() ? 1 : 0;
    found.among_five += hits.any().item<bool>() ? 1 : 0;
    ++found.samples;
  }
}

}  // namespace

double Accuracy::top1() const { return percent(first, samples); }
double Accuracy::top5() const { return percent(among_five, samples); }

std::string near_chance_warning(const Accuracy& accuracy, const std::string& model) {
  if (accuracy.classes < 2 || accuracy.samples == 0) return "";
  const auto samples = static_cast<double>(accuracy.samples);
  const double chance = 1. / static_cast<double>(accuracy.classes);
  const double spread = std::sqrt(chance * (1 - chance) / samples);
  // Random guessing has this mean and standard deviation: no warning above two deviations.
  if (accuracy.top1() / 100 > chance + 2 * spread) return "";
  return fmt::format(
      "top-1 accuracy of {} is {:.1f} % on {} samples, near chance ({:.1f} % for {} "
      "classes): check --preprocess and the labels",
      model, accuracy.top1(), accuracy.samples, 100 * chance, accuracy.classes);
}

Accuracy measure_accuracy(ModelRunner& model, const PreparedData& data,
                          const ProgressOptions& shown, int64_t most) {
  SPARSEBIT_CHECK(data.has_labels(), InvalidArgument,
                  "there are no labels; give --labels, or one folder of images per class");
  const int64_t fixed = model.fixed_batch();
  // Throws if the fixed batch size does not divide the number of samples.
  const int64_t reading = data.step(fixed);
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
