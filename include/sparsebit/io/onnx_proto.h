#pragma once

/// ONNX's messages, onnx::ModelProto and the others. ONNX's own header includes the messages of the
/// variant that ONNX_ML selects, and Debian installs only those of this one: it is set here, so
/// that programs which include our headers need no definition on their command line.
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>
