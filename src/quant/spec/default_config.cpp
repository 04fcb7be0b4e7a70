#include "sparsebit/quant/spec/default_config.h"

namespace sparsebit::quant {
namespace {

const char* const kVirtual =
    R"(# Simulated quantization of the inputs and weights of every operator, for research: no runtime is
# asked what it can run.
BACKEND: virtual
SCHEDULE:
  FUSE_BN: true               # batch norms become a part of the layers before them
W:                            # weights
  QSCHEME: per-channel-symmetric
  QUANTIZER: {TYPE: uniform, BIT: 8}
  OBSERVER: {TYPE: mse}
A:                            # features, the values between layers
  QSCHEME: per-tensor-affine
  QUANTIZER: {TYPE: uniform, BIT: 8}
  OBSERVER: {TYPE: mse}
)";

const char* const kOnnxRuntime = R"(# 8 bits for ONNX Runtime on CPUs.
#
# Pairs of QuantizeLinear and DequantizeLinear stand where ONNX Runtime turns what is between them
# into integer kernels: around convolutions and matrix products, and around what lies between those.
BACKEND: onnxruntime
SCHEDULE:
  FUSE_BN: true               # batch norms become a part of the layers before them
W:                            # weights: int8, a scale for each output channel
  QSCHEME: per-channel-symmetric
  # On x86 processors without VNNI instructions, ONNX Runtime adds two products in 16 bits, which
  # overflow where both weights are large. AVX2_SAFE makes scales so wide that they cannot; switch
  # it off if the model will only run where VNNI is.
  # With scales of few significant bits, sums are exact in float arithmetic, too: the simulation and
  # the file give the same numbers to the last bit. 0 means all bits.
  QUANTIZER: {TYPE: uniform, BIT: 8, AVX2_SAFE: true, SCALE_BITS: 3}
  OBSERVER: {TYPE: mse}
A:                            # features, the values between layers: uint8, one scale each
  QSCHEME: per-tensor-affine
  QUANTIZER: {TYPE: uniform, BIT: 8, SCALE_BITS: 4}
  OBSERVER: {TYPE: kl_histogram}  # or mse, minmax, percentile, aciq, moving_average
  # SPECIFIC changes settings of layers by name; a layer without integers is
  # SPECIFIC:
  # - "head.*": ["QUANTIZER.DISABLE", True]
)";

const char* const kTensorRt =
    R"(# 8 bits for TensorRT, which wants pairs at the inputs of layers, symmetric and without zero points.
BACKEND: tensorrt
SCHEDULE:
  FUSE_BN: true               # batch norms become a part of the layers before them
W:                            # weights: int8, a scale for each output channel
  QSCHEME: per-channel-symmetric
  QUANTIZER: {TYPE: uniform, BIT: 8}
  OBSERVER: {TYPE: minmax}
A:                            # features, the values between layers: int8, one scale each
  QSCHEME: per-tensor-symmetric
  QUANTIZER: {TYPE: uniform, BIT: 8}
  OBSERVER: {TYPE: kl_histogram}
)";

}  // namespace

std::string default_config(Backend backend) {
  switch (backend) {
    case Backend::Virtual:
      return kVirtual;
    case Backend::OnnxRuntime:
      return kOnnxRuntime;
    case Backend::TensorRt:
      return kTensorRt;
  }
  return "";
}

}  // namespace sparsebit::quant
