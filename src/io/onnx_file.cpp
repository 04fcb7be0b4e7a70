#include "sparsebit/io/onnx_file.h"

#include "io/onnx_names.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/output_set.h"
#include "sparsebit/io/onnx_all_tensors.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>

#include <array>
#include <limits>
#include <set>

namespace sparsebit::io {
namespace {

constexpr int64_t kDataAlignment =
    64;                             // of tensors in a data file, so that they can be used in place
constexpr size_t kSmallest = 1024;  // bytes; smaller tensors stay in the model file

/// Suppresses protobuf's own error output; errors are reported by exceptions.
void silence_protobuf() {
  [[maybe_unused]] static const auto previous = google::protobuf::SetLogHandler(nullptr);
}

void move_to_data_file(onnx::TensorProto& tensor, const std::string& location, int64_t& position,
                       std::ostream& out) {
  static const std::array<char, kDataAlignment> zeros{};
  const int64_t offset = (position + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  out.write(zeros.data(), offset - position);
  const std::unique_ptr<std::string> bytes(tensor.release_raw_data());
  out.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  position = offset + static_cast<int64_t>(bytes->size());

  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto set = [&tensor](const char* key, std::string value) {
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(std::move(value));
  };
  set("location", location);
  set("offset", std::to_string(offset));
  set("length", std::to_string(bytes->size()));
}

void write_message(const onnx::ModelProto& model, const std::filesystem::path& path) {
  AtomicFile file(path);
  const bool written = model.SerializeToOstream(&file.stream());
  SPARSEBIT_CHECK(written || !file.stream(), Unsupported, with_target_paths(path.string()),
                  ": the model is larger than 2 GB without its weights, the limit of an ONNX file");
  file.commit();
}

/// Visits the default values of a function's attributes, a field newer than the packaged ONNX.
/// Unreadable ones are skipped: importing the model reports them.
template <class Visit>
void for_each_default(const onnx::FunctionProto& function, const Visit& visit) {
  constexpr int kDefaults = 11;
  const auto& fields = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    const bool has_bytes = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    onnx::AttributeProto attribute;
    if (field.number() != kDefaults || !has_bytes) continue;
    if (attribute.ParseFromString(field.length_delimited())) visit(attribute);
  }
}

}  // namespace

bool looks_like_onnx(std::string_view bytes) {
  // A safetensors file starts with the length of its JSON text, which may have any first byte.
  constexpr size_t kLength = 8;
  const bool is_safetensors = bytes.size() > kLength && bytes.substr(kLength).starts_with("{\"");
  if (is_safetensors) return false;
  // The first field of a ModelProto is ir_version (tag 0x08), written first by every producer.
  return bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x40;
}

onnx::ModelProto parse_onnx(std::string_view bytes, const std::string& where) {
  silence_protobuf();
  SPARSEBIT_CHECK(bytes.size() <= std::numeric_limits<int>::max(), InvalidModel, where,
                  ": larger than 2 GB, the limit of an ONNX file; large weights must be kept in "
                  "external data files");
  onnx::ModelProto model;
  const bool parsed = model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  SPARSEBIT_CHECK(parsed, InvalidModel, where, ": not a valid ONNX file (", bytes.size(),
                  " bytes); truncated, damaged, nested too deeply, or another format");
  SPARSEBIT_CHECK(model.has_graph() && model.opset_import_size() > 0, InvalidModel, where,
                  ": not an ONNX model: it has ",
                  model.has_graph() ? "no operator set" : "no graph");
  check_names(model, where);
  return model;
}

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::vector<std::string> external_files(const onnx::ModelProto& model) {
  std::set<std::string> files;
  const auto note = [&files](const onnx::TensorProto& tensor) {
    for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
      if (entry.key() == "location") files.insert(entry.value());
    }
  };
  for_each_tensor(model.graph(), note);
  for (const onnx::TrainingInfoProto& training : model.training_info()) {
    for_each_tensor(training.initialization(), note);
    for_each_tensor(training.algorithm(), note);
  }
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::NodeProto& node : function.node()) for_each_tensor(node, note);
    for_each_default(
        function, [&](const onnx::AttributeProto& attribute) { for_each_tensor(attribute, note); });
  }
  return {files.begin(), files.end()};
}

std::vector<std::filesystem::path> model_files(const std::filesystem::path& model) {
  std::vector<std::filesystem::path> files = {model};
  const MappedFile file(model);
  if (!looks_like_onnx(file.bytes())) return files;
  for (const std::string& name : external_files(parse_onnx(file.bytes(), model.string())))
    files.push_back(model.parent_path() / name);
  return files;
}

uintmax_t bytes_of_model(const std::filesystem::path& model) {
  uintmax_t bytes = 0;
  for (const std::filesystem::path& file : model_files(model))
    bytes += std::filesystem::file_size(file);
  return bytes;
}

onnx::ModelProto load_onnx(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_onnx(file.bytes(), path.string());
}

void save_onnx(onnx::ModelProto model, const std::filesystem::path& path,
               const OnnxSaveOptions& options) {
  if (model.ByteSizeLong() < static_cast<size_t>(options.largest_file))
    return write_message(model, path);
  OutputSet outputs;  // the files belong together
  const std::filesystem::path staged = outputs.stage(path);
  const std::filesystem::path data_path = staged.string() + ".data";
  AtomicFile data(data_path);
  int64_t position = 0;
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < kSmallest) continue;
    move_to_data_file(tensor, data_path.filename().string(), position, data.stream());
  }
  data.commit();
  write_message(model, staged);
  outputs.commit();
}

}  // namespace sparsebit::io
