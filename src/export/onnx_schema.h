#pragma once

#include "export/onnx_values.h"

#include <onnx/defs/schema.h>

#include <string>
#include <vector>

namespace sparsebit::exports {

/// The newest opset that the linked onnx library knows.
int64_t newest_schema_opset();

/// ONNX's schema of an operator of the default domain in an opset (in the newest known one if the
/// opset is newer); null when the linked library does not know it.
const onnx::OpSchema* schema_of(const std::string& type, int64_t opset);

/// One result, or a tuple of several.
NodeResult as_value(std::vector<OnnxTensor> outputs, bool several);

}  // namespace sparsebit::exports
