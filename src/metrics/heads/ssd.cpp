#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

struct SsdOutputs {
  const NamedOutput* boxes = nullptr;
  const NamedOutput* scores = nullptr;

  bool fit() const {
    return boxes && scores && boxes->tensor.dim() == 3 && scores->tensor.dim() == 3 &&
           boxes->tensor.size(2) == 4 && boxes->tensor.size(1) == scores->tensor.size(1) &&
           scores->tensor.size(2) > 1;
  }
};

SsdOutputs find_ssd_outputs(const DetectorOutputs& outputs) {
  return {output_with_name(outputs, {"box"}), output_with_name(outputs, {"score", "conf"})};
}

bool is_ssd(const DetectorOutputs& outputs) { return find_ssd_outputs(outputs).fit(); }

Candidates decode_ssd(const DetectorOutputs& outputs) {
  const SsdOutputs found = find_ssd_outputs(outputs);
  if (!found.fit()) wrong_form(outputs, "ssd");
  const at::Tensor scores = rows_of(*found.scores, "ssd");
  Candidates candidates = every_class(in_pixels(rows_of(*found.boxes, "ssd"), outputs),
                                      scores.narrow(1, 1, scores.size(1) - 1));
  candidates.labels = candidates.labels + 1;  // 0 is the background
  candidates.classes = scores.size(1);
  return candidates;
}

}  // namespace

DetectorHead ssd_head() {
  return {.name = "ssd",
          .form =
              "boxes [batch, n, 4] (left, top, right, bottom, normalized), scores [batch, n, 1 + "
              "classes], the background first (SSD before NMS)",
          .recognizes = is_ssd,
          .decode = decode_ssd,
          .background_is_zero = true};
}

}  // namespace sparsebit::metrics
