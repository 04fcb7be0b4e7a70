#pragma once

#include "sparsebit/metrics/detector_head.h"

// The heads listed by detector_heads(), defined in the file of their family.

namespace sparsebit::metrics {

DetectorHead yolox_head();
DetectorHead yolov5_head();
DetectorHead yolov8_head();
DetectorHead end_to_end_head();
DetectorHead yolov7_end_to_end_head();
DetectorHead torchvision_head();
DetectorHead tensorflow_head();
DetectorHead efficient_nms_head();
DetectorHead ssd_head();
DetectorHead detr_head();
DetectorHead rt_detr_head();

}  // namespace sparsebit::metrics
