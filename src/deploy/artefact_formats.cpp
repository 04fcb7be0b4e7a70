#include "sparsebit/deploy/artefact_format.h"

#include "deploy/formats/clip_ranges.h"
#include "deploy/formats/ncnn_table.h"
#include "deploy/formats/nnie.h"
#include "deploy/formats/onnx_files.h"
#include "deploy/formats/openvino_fq.h"
#include "deploy/formats/ppl.h"
#include "deploy/formats/ppl_cuda.h"
#include "deploy/formats/qnn_encodings.h"
#include "deploy/formats/snpe_encodings.h"
#include "deploy/formats/stpu_minmax.h"
#include "deploy/formats/tengine_scale.h"
#include "deploy/formats/tensorrt_cache.h"
#include "deploy/formats/vitis.h"

namespace sparsebit::deploy {

Registry<ArtefactFormat>& artefact_formats() {
  static Registry<ArtefactFormat> registry = [] {
    Registry<ArtefactFormat> r("artefact format");
    r.add(
        "clip_ranges",
        {"TensorRT: dynamic range of each activation, JSON",
         "parse {name}.onnx with nvonnxparser::IParser, call ITensor::setDynamicRange(-v, v) with "
         "each tensor's v of {name}_clip_ranges.json, and build with BuilderFlag::kINT8",
         write_clip_ranges});
    r.add("tensorrt_cache", {"TensorRT: calibration cache with the scale of each activation",
                             "trtexec --onnx={name}.onnx --int8 --calib={name}_calibration.cache",
                             write_tensorrt_cache});
    r.add("snpe_encodings",
          {"SNPE: quantization overrides of activations and weights, JSON",
           "snpe-onnx-to-dlc --input_network {name}.onnx --quantization_overrides "
           "{name}_snpe_encodings.json --output_path {name}.dlc, then snpe-dlc-quantize "
           "--input_dlc {name}.dlc --override_params --bias_bitwidth 32 --input_list LIST",
           write_snpe_encodings});
    r.add("qnn_encodings",
          {"QNN: quantization overrides of activations and weights as AIMET writes them, JSON",
           "qnn-onnx-converter --input_network {name}.onnx --quantization_overrides "
           "{name}_qnn_encodings.json --bias_bitwidth 32 --input_list LIST",
           write_qnn_encodings});
    r.add("ppl", {"OpenPPL (W8A16): step, zero point and range of activations and weights, JSON",
                  "pass {name}.onnx and {name}_ppl.json to OpenPPL's converter as model and "
                  "quantization parameters",
                  write_ppl});
    r.add("ppl_cuda", {"OpenPPL on CUDA: largest magnitude of each activation, text",
                       "pplnn --use-cuda --onnx-model {name}.onnx --quant-file {name}_ppl_cuda.txt",
                       write_ppl_cuda});
    r.add("vitis",
          {"Vitis AI: power-of-two scale and fix position of activations and weights, JSON",
           "the xmodel converter of Vitis AI reads {name}.onnx and {name}_vitis.json; then "
           "vai_c_xir -x {name}_int.xmodel -a ARCH.json -o OUT -n {name}",
           write_vitis});
    r.add("nnie", {"NNIE: largest magnitude of each quantized input, by node, JSON",
                   "nnie_mapper reads {name}.onnx with the GFPQ parameters of "
                   "{name}_gfpq_param_dict.json",
                   write_nnie});
    r.add("tengine_scale", {"Tengine (uint8): scale and zero point of each activation, text",
                            "convert {name}.onnx with Tengine's convert_tool, then "
                            "quant_tool_uint8 takes the scales of "
                            "{name}_for_tengine.scale",
                            write_tengine_scale});
    r.add("stpu_minmax",
          {"STPU: range of activations and weights, scale of biases, JSON",
           "the STPU compiler reads {name}.onnx and {name}_stpu_minmax.json", write_stpu_minmax});
    r.add("openvino_fq",
          {"OpenVINO: ONNX with FakeQuantize operators",
           "ovc {name}_openvino.onnx, or openvino.Core().read_model(...)", write_openvino_fq});
    r.add(
        "ncnn_table",
        {"ncnn: int8 calibration table with scales of weights and of layers' inputs, text",
         "ncnn2int8 {name}.param {name}.bin {name}_int8.param {name}_int8.bin {name}.table, where "
         "the layers of {name}.param are called like the nodes of {name}.onnx; run without "
         "Winograd (opt.use_winograd_convolution = false), which overflows with 8-bit weights",
         write_ncnn_table});
    r.add("onnx_clean",
          {"float ONNX without quantizers, weights clipped to their quantized range, not rounded",
           "the float model that the range files of the other formats refer to", write_onnx_clean});
    r.add("onnx_qdq", {"ONNX with pairs of QuantizeLinear and DequantizeLinear",
                       "any runtime that reads Q/DQ pairs, such as "
                       "onnxruntime.InferenceSession(\"{name}_qdq.onnx\")",
                       write_onnx_qdq});
    r.add("onnx_qoperator",
          {"ONNX with integer operators (QLinearConv and the like)",
           "onnxruntime.InferenceSession(\"{name}_qoperator.onnx\")", write_onnx_qoperator});
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::deploy
