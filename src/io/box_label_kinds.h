#pragma once

#include "sparsebit/io/box_labels.h"

// The kinds of box labels; box_labels.cpp detects which one to open.

namespace sparsebit::io {

std::unique_ptr<BoxLabels> open_yolo_labels(const std::filesystem::path& folder);
std::unique_ptr<BoxLabels> open_coco_annotations(const std::filesystem::path& file);

}  // namespace sparsebit::io
