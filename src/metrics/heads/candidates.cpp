#include "metrics/heads/candidates.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {

at::Tensor corners_of_centered(const at::Tensor& boxes) {
  const at::Tensor middle = boxes.narrow(1, 0, 2), half = boxes.narrow(1, 2, 2) / 2;
  return at::cat({middle - half, middle + half}, 1);
}

at::Tensor in_pixels(const at::Tensor& shares, const DetectorOutputs& outputs) {
  const auto width = static_cast<float>(outputs.width), height = static_cast<float>(outputs.height);
  return shares.to(at::kFloat) * at::tensor({width, height, width, height});
}

Candidates best_class(const at::Tensor& boxes, const at::Tensor& scores) {
  const auto [best, labels] = scores.max(1);
  return {boxes, best, labels, scores.size(1)};
}

Candidates every_class(const at::Tensor& boxes, const at::Tensor& scores) {
  const int64_t classes = scores.size(1);
  return {boxes.repeat_interleave(classes, 0), scores.flatten(),
          at::arange(classes, at::kLong).repeat({boxes.size(0)}), classes};
}

const NamedOutput* output_with_name(const DetectorOutputs& outputs,
                                    std::initializer_list<const char*> parts) {
  for (const NamedOutput& output : outputs.outputs) {
    for (const char* part : parts) {
      if (lower_case(output.name).find(part) != std::string::npos) return &output;
    }
  }
  return nullptr;
}

at::Tensor rows_of(const NamedOutput& output, const std::string& head) {
  const at::Tensor& tensor = output.tensor;
  const bool has_batch = tensor.dim() == 3 && tensor.size(0) == 1;
  SPARSEBIT_CHECK(has_batch || tensor.dim() == 2, InvalidArgument, "the output '", output.name,
                  "' is ", tensor.sizes(), "; the head '", head, "' needs a matrix of boxes");
  return has_batch ? tensor[0] : tensor;
}

const NamedOutput* only_matrix(const DetectorOutputs& outputs) {
  const NamedOutput* found = nullptr;
  for (const NamedOutput& output : outputs.outputs) {
    if (output.tensor.dim() > 3) continue;
    if (found || output.tensor.dim() != 3) return nullptr;
    found = &output;
  }
  return found;
}

void wrong_form(const DetectorOutputs& outputs, const std::string& head) {
  throw Error(ErrorKind::InvalidArgument, "the model outputs " + describe(outputs.outputs) +
                                              ", but the head '" + head +
                                              "' needs: " + detector_head(head).form);
}

}  // namespace sparsebit::metrics
