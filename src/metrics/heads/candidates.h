#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <initializer_list>
#include <string>
#include <vector>

// Helpers shared by the heads.

namespace sparsebit::metrics {

/// Converts boxes (center x, center y, width, height) to (left, top, right, bottom).
at::Tensor corners_of_centered(const at::Tensor& boxes);

/// Converts normalized boxes to pixels of the input.
at::Tensor in_pixels(const at::Tensor& shares, const DetectorOutputs& outputs);

/// One candidate per box, with the class of the highest score. @param scores  [n, classes]
Candidates best_class(const at::Tensor& boxes, const at::Tensor& scores);
/// One candidate per box and class.
Candidates every_class(const at::Tensor& boxes, const at::Tensor& scores);

/// The first output whose name contains one of these parts, ignoring case; null when there is none.
const NamedOutput* output_with_name(const DetectorOutputs& outputs,
                                    std::initializer_list<const char*> parts);

/// Removes the batch axis. Throws InvalidArgument, naming the head, unless the shape is [1, a, b]
/// or [a, b].
at::Tensor rows_of(const NamedOutput& output, const std::string& head);

/// The only output of three axes, or null; additional outputs of more axes (feature maps) are
/// allowed.
const NamedOutput* only_matrix(const DetectorOutputs& outputs);

/// Throws InvalidArgument: the outputs do not have the format of the head.
[[noreturn]] void wrong_form(const DetectorOutputs& outputs, const std::string& head);

}  // namespace sparsebit::metrics
