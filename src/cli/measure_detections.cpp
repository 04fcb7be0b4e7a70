#include "cli/measure_detections.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/metrics/named_output.h"

#include <algorithm>
#include <optional>

namespace sparsebit::cli {
namespace {

using metrics::Box;

/// Converts a box from pixels of the model's input to pixels of the stored image, clipped to it.
Box in_stored_image(const Box& box, const io::ImagePlacement& placement, double height,
                    double width) {
  const auto x = [&](double at) {
    return std::clamp((at - placement.left) / placement.scale_x, 0., width);
  };
  const auto y = [&](double at) {
    return std::clamp((at - placement.top) / placement.scale_y, 0., height);
  };
  return {x(box.left), y(box.top), x(box.right), y(box.bottom)};
}

metrics::ClassNumbering numbering_called(const std::string& name) {
  for (const auto& [known, numbering] : metrics::class_numberings()) {
    if (known == name) return numbering;
  }
  throw Error(ErrorKind::InvalidArgument, "unknown class numbers '" + name + "'");
}

/// Accumulates detections and ground truth over the images of a data set.
class DetectionMeter {
 public:
  DetectionMeter(const io::BoxLabels& labels, const DetectionOptions& options,
                 const io::Preprocess& preprocess)
      : labels_(labels), options_(options), preprocess_(preprocess) {}

  /// @param outputs  the model's outputs for this image only.
  void add(std::vector<metrics::NamedOutput> outputs, const data::StoredSample& image) {
    SPARSEBIT_CHECK(image.sizes.size() == 3, InvalidArgument, "'", image.name,
                    "' is not an image; expected 3 dimensions, found shape ", image.sizes);
    const int64_t height = image.sizes[1], width = image.sizes[2];
    const auto labelled = labels_.of(image.name, height, width);
    if (!labelled) {
      ++unlabelled_;
      return;
    }
    const io::ImagePlacement placement = preprocess_.placement(height, width);
    const metrics::Candidates candidates =
        decoded({std::move(outputs), placement.height, placement.width});
    std::vector<metrics::TrueBox> truth;
    for (const io::LabelledBox& box : *labelled) {
      check_class(box, candidates);
      truth.push_back({{box.left, box.top, box.right, box.bottom}, box.label, box.is_crowd});
    }
    std::vector<metrics::Detection> found =
        metrics::select_detections(candidates, *head_, options_.selection);
    for (metrics::Detection& detection : found) {
      detection.box = in_stored_image(detection.box, placement, static_cast<double>(height),
                                      static_cast<double>(width));
      detection.label = numbers_->class_of(detection.label);
    }
    std::erase_if(found, [](const metrics::Detection& detection) { return detection.label < 0; });
    precision_.add(found, truth);
  }

  DetectionAccuracy result() const {
    SPARSEBIT_CHECK(head_, InvalidArgument, "no image of the data set has labels");
    return {.precision = precision_.result(),
            .head = head_->name,
            .has_nms = head_->needs_nms,
            .numbering = numbers_->numbering(),
            .selection = options_.selection,
            .unlabelled = unlabelled_,
            .class_names = labels_.classes()};
  }

 private:
  /// Decodes the outputs; the first image determines the head and the class numbers.
  metrics::Candidates decoded(const metrics::DetectorOutputs& outputs) {
    if (!head_)
      head_ = options_.head.empty() ? &metrics::recognize_head(outputs)
                                    : &metrics::detector_head(options_.head);
    metrics::Candidates candidates = head_->decode(outputs);
    if (!numbers_) {
      const std::vector<int64_t> ids = labels_.category_ids();
      numbers_.emplace(options_.class_numbers.empty()
                           ? metrics::guess_numbering(*head_, candidates.classes, ids)
                           : numbering_called(options_.class_numbers),
                       ids);
    }
    return candidates;
  }

  void check_class(const io::LabelledBox& box, const metrics::Candidates& candidates) const {
    const bool is_counted = numbers_->numbering() == metrics::ClassNumbering::FromZero;
    SPARSEBIT_CHECK(!is_counted || candidates.classes == 0 || box.label < candidates.classes,
                    InvalidArgument, "an object has class ", box.label, ", but the model has only ",
                    candidates.classes, " classes");
  }

  const io::BoxLabels& labels_;
  const DetectionOptions& options_;
  const io::Preprocess& preprocess_;
  const metrics::DetectorHead* head_ = nullptr;
  std::optional<metrics::ClassNumbers> numbers_;
  metrics::AveragePrecision precision_;
  int64_t unlabelled_ = 0;
};

}  // namespace

DetectionAccuracy measure_detections(ModelRunner& model, const PreparedData& data,
                                     const io::BoxLabels& labels, const DetectionOptions& options,
                                     const ProgressOptions& shown) {
  const int64_t fixed = model.fixed_batch();
  data.step(fixed);  // throws if the fixed batch size does not divide the samples
  // One at a time: heads that end in NMS have no batch axis.
  const int64_t step = std::max<int64_t>(1, fixed);
  DetectionMeter meter(labels, options, data.stored_preprocess());
  Progress progress("evaluating", data.size(), shown);
  for (int64_t start = 0; start < data.size(); start += step) {
    const PreparedData::Batch batch = data.batch(start, step);
    const std::vector<metrics::NamedOutput> outputs = model.run_named(batch.inputs);
    for (int64_t i = 0; i < batch.size; ++i) {
      const data::StoredSample& image = batch.stored.at(static_cast<size_t>(i));
      with_context([&] { meter.add(metrics::outputs_of_sample(outputs, i, batch.size), image); },
                   [&] { return "at the image '" + image.name + "'"; });
    }
    progress.advance(batch.size);
  }
  progress.finish();
  return meter.result();
}

}  // namespace sparsebit::cli
