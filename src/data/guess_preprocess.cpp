#include "sparsebit/data/guess_preprocess.h"

#include "sparsebit/data/image_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sparsebit::data {
namespace {

/// The input of the rules.
struct Question {
  const ModelFacts& facts;
  ImageInput image;

  bool has_input(const std::string& name) const {
    return std::any_of(facts.inputs.begin(), facts.inputs.end(),
                       [&](const InputSpec& input) { return input.name == name; });
  }
  bool has_output(const std::string& name) const {
    return std::any_of(facts.outputs.begin(), facts.outputs.end(),
                       [&](const ModelFacts::Output& output) { return output.name == name; });
  }
  /// Number of classes of the first output; 0 unless its shape is [batch, classes].
  int64_t classes() const {
    if (facts.outputs.empty()) return 0;
    const std::vector<int64_t>& shape = facts.outputs.front().shape;
    return shape.size() == 2 ? std::max<int64_t>(0, shape[1]) : 0;
  }
  /// Cells of YOLO's three grids (strides 8, 16, 32); 0 when the input's size is dynamic.
  int64_t cells() const {
    int64_t count = 0;
    for (const int64_t stride : {8, 16, 32})
      count += (image.height / stride) * (image.width / stride);
    return image.has_size() ? count : 0;
  }
  std::string metadata(const char* key) const {
    const auto found = facts.metadata.find(key);
    return found == facts.metadata.end() ? "" : found->second;
  }
};

/// Why a rule matches, in addition to the input's size; nullopt when it does not match.
using Reason = std::optional<std::string>;
using Matches = Reason (*)(const Question&);

struct Rule {
  const char* preset;
  Matches matches;
};

/// The shape of the first output [batch, rows, columns]; -1: any size.
const std::vector<int64_t>* output_of(const Question& ask, int64_t rows, int64_t columns) {
  for (const ModelFacts::Output& output : ask.facts.outputs) {
    const std::vector<int64_t>& shape = output.shape;
    if (shape.size() == 3 && (rows < 0 || shape[1] == rows) && (columns < 0 || shape[2] == columns))
      return &shape;
  }
  return nullptr;
}

std::string boxes_text(int64_t boxes, int64_t numbers) {
  return fmt::format("{} boxes of {} numbers", boxes, numbers);
}

Reason by_ultralytics(const Question& ask, bool classifies) {
  const bool is_theirs = ask.metadata("author") == "Ultralytics";
  const std::string task = ask.metadata("task");
  if (!is_theirs || (task == "classify") != classifies) return std::nullopt;
  return "ultralytics' metadata" + (task.empty() ? "" : ", task " + task);
}

// A box of YOLOX and YOLOv5 has four coordinates, an objectness and at least one class score.
constexpr int64_t kBoxAndObjectness = 5;

/// YOLOX: [batch, cells, 5 + classes]
Reason yolox_grid(const Question& ask) {
  const int64_t cells = ask.cells();
  const auto* shape = cells > 0 ? output_of(ask, cells, -1) : nullptr;
  if (!shape || (*shape)[2] <= kBoxAndObjectness) return std::nullopt;
  return boxes_text(cells, (*shape)[2]);
}

/// YOLOv5 and YOLOv7, with three anchors per cell: [batch, 3 * cells, 5 + classes]
Reason anchor_grid(const Question& ask) {
  const int64_t boxes = 3 * ask.cells();
  const auto* shape = boxes > 0 ? output_of(ask, boxes, -1) : nullptr;
  if (!shape || (*shape)[2] <= kBoxAndObjectness) return std::nullopt;
  return boxes_text(boxes, (*shape)[2]);
}

/// YOLOv8 and its successors: [batch, 4 + classes, cells]
Reason transposed_grid(const Question& ask) {
  const int64_t cells = ask.cells();
  const auto* shape = cells > 0 ? output_of(ask, -1, cells) : nullptr;
  return shape && (*shape)[1] > 4 ? Reason(boxes_text(cells, (*shape)[1])) : Reason();
}

/// YOLOv10 and YOLO26, which need no NMS: [batch, 300, 6]
Reason end_to_end_boxes(const Question& ask) {
  const auto* shape = output_of(ask, -1, 6);
  const bool alone = ask.facts.outputs.size() == 1;
  return shape && alone && (*shape)[1] >= 100 ? Reason(boxes_text((*shape)[1], 6)) : Reason();
}

Reason clip_names(const Question& ask) {
  const bool encodes = ask.has_output("image_embeds") || ask.has_output("image_embeddings");
  if (ask.has_input("pixel_values") && (encodes || ask.has_input("input_ids")))
    return encodes ? "the names pixel_values and image_embeds"
                   : "the inputs pixel_values and input_ids";
  return std::nullopt;
}

Reason detection_names(const Question& ask) {
  if (ask.has_output("pred_boxes")) return "the output pred_boxes";
  const bool lists = ask.has_output("scores") && ask.has_output("labels") &&
                     (ask.has_output("boxes") || ask.has_output("bboxes"));
  return lists ? Reason("outputs of boxes, labels and scores") : Reason();
}

std::string classes_text(const Question& ask) {
  return ask.classes() > 0 ? fmt::format("{} classes", ask.classes()) : "";
}

bool has_sides(const Question& ask, int64_t channels, int64_t side) {
  return ask.image.channels == channels && ask.image.height == side && ask.image.width == side;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"yolo", [](const Question& ask) { return by_ultralytics(ask, false); }},
      {"yolo-cls", [](const Question& ask) { return by_ultralytics(ask, true); }},
      {"yolox", yolox_grid},
      {"yolo", anchor_grid},
      {"yolo", transposed_grid},
      {"yolo", end_to_end_boxes},
      {"clip", clip_names},
      {"detr", detection_names},
      {"mnist",
       [](const Question& ask) {
         return has_sides(ask, 1, 28) ? Reason(classes_text(ask)) : Reason();
       }},
      {"cifar10",
       [](const Question& ask) {
         return has_sides(ask, 3, 32) ? Reason(classes_text(ask)) : Reason();
       }},
      // TensorFlow models: 1001 classes including the background, or NHWC layout.
      {"tf",
       [](const Question& ask) {
         const bool last = ask.image.layout == io::Preprocess::Layout::Hwc;
         const int64_t classes = ask.classes();
         return classes == 1001 || (last && classes == 1000) ? Reason(classes_text(ask)) : Reason();
       }},
      {"imagenet",
       [](const Question& ask) {
         const bool colored = ask.image.channels == 3 || ask.image.channels < 0;
         return colored && ask.classes() == 1000 ? Reason(classes_text(ask)) : Reason();
       }},
  };
  return all;
}

void drop_normalization(io::Preprocess& settings, double range) {
  settings.scale = range / 255;
  settings.mean.clear();
  settings.std.clear();
}

}  // namespace

PreprocessGuess guess_preprocess(const ModelFacts& facts, const InputSpec& input,
                                 const StoredImage& stored) {
  Question ask{facts, image_input(input).value_or(ImageInput{})};
  constexpr int64_t kSmall = 64;
  const bool is_small = stored.height > 0 && std::max(stored.height, stored.width) <= kSmall;
  if (ask.image.channels < 0 && !input.info) ask.image.channels = stored.channels;
  if (!input.info && is_small) {
    ask.image.height = stored.height;
    ask.image.width = stored.width;
  }
  const std::string size = input.info ? "a " + ask.image.to_text() + " input"
                           : is_small ? ask.image.to_text() + " images"
                                      : "an input of unknown size (--shape sets it)";
  PreprocessGuess guess{.preset = "imagenet", .settings = {}, .because = size + " alone"};
  for (const Rule& rule : rules()) {
    const Reason reason = rule.matches(ask);
    if (!reason) continue;
    guess.preset = rule.preset;
    guess.because = reason->empty() ? size : size + " and " + *reason;
    break;
  }
  guess.settings = fitted(io::preprocess_preset(guess.preset), ask.image);
  if (ask.image.channels == 1) guess.settings.channels = io::Preprocess::Channels::Gray;
  const auto own = facts.own_ranges.find(input.name);
  if (ask.image.bytes) {
    guess.because += "; not normalized, because the input is uint8";
  } else if (own != facts.own_ranges.end()) {
    drop_normalization(guess.settings, own->second);
    guess.because += fmt::format(
        "; not normalized, because the model itself normalizes pixels of 0..{}", own->second);
  } else if (ask.image.channels == 1 && guess.settings.mean.size() > 1) {
    drop_normalization(guess.settings, 1);  // per-channel means do not apply to one channel
  }
  return guess;
}

}  // namespace sparsebit::data
