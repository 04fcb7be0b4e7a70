#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {
namespace {

/// coordinate_transformation_mode came with operator set 16.
void convert_roi_align(Conversion& c) {
  const Attributes& a = c.attributes();
  const std::string transformation =
      c.opset() < 16 ? "output_half_pixel" : a.text("coordinate_transformation_mode", "half_pixel");
  c.give(c.node("onnx.RoiAlign", c.tensors(),
                {{"coordinate_transformation_mode", transformation},
                 {"mode", a.text("mode", "avg")},
                 {"output_height", a.integer("output_height", 1)},
                 {"output_width", a.integer("output_width", 1)},
                 {"sampling_ratio", a.integer("sampling_ratio", 0)},
                 {"spatial_scale", a.number("spatial_scale", 1.0)}}));
}

}  // namespace

void add_detection_converters(Converters& r) { r.add("RoiAlign", convert_roi_align); }

}  // namespace sparsebit::frontends
