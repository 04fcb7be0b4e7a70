#include "deploy/formats/onnx_bytes.h"

#include "sparsebit/core/error.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

namespace sparsebit::deploy {

std::string onnx_bytes(const onnx::ModelProto& model) {
  SPARSEBIT_CHECK(model.ByteSizeLong() <= size_t{std::numeric_limits<int32_t>::max()}, Unsupported,
                  "the ONNX file would be larger than 2 GB");
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream out(&bytes);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    SPARSEBIT_CHECK(model.SerializeToCodedStream(&coded), Internal,
                    "the ONNX model cannot be serialized: a required field is missing");
  }
  return bytes;
}

}  // namespace sparsebit::deploy
