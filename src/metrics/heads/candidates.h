#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <initializer_list>
#include <string>
#include <vector>

// Steps that heads share.

namespace sparsebit::metrics {

/// Left, top, right, bottom of rows that start with the middle, width and height.
at::Tensor corners_of_centered(const at::Tensor& boxes);

/// Boxes given as shares of the input's sizes, in pixels.
at::Tensor in_pixels(const at::Tensor& shares, const DetectorOutputs& outputs);

/// Each box with the class of its highest score. @param scores  [n, classes]
Candidates best_class(const at::Tensor& boxes, const at::Tensor& scores);
/// Each box once for each class.
Candidates every_class(const at::Tensor& boxes, const at::Tensor& scores);

/// The output whose name has one of these parts, whatever the case; null when there is none.
const NamedOutput* output_with_name(const DetectorOutputs& outputs,
                                    std::initializer_list<const char*> parts);

/// Without the batch axis. Throws InvalidArgument, naming the head, unless [1, a, b] or [a, b].
at::Tensor rows_of(const NamedOutput& output, const std::string& head);

/// The only output of three axes, if one is; others may be feature maps.
const NamedOutput* only_matrix(const DetectorOutputs& outputs);

/// Throws InvalidArgument: the outputs do not have the form of the head.
[[noreturn]] void wrong_form(const DetectorOutputs& outputs, const std::string& head);

}  // namespace sparsebit::metrics
