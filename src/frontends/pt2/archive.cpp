#include "frontends/pt2/archive.h"

#include "frontends/pt2/json_value.h"
#include "frontends/pt2/pickled_tensors.h"
#include "frontends/pt2/tensor_meta.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/frontends/pt2.h"
#include "sparsebit/io/zip_archive.h"

#include <ATen/ATen.h>

#include <optional>

namespace sparsebit::frontends {
namespace pt2 {
namespace {

using Tensors = std::map<std::string, at::Tensor>;
using Record = io::ZipArchive::Record;

constexpr std::string_view kFormat = "archive_format";  // a record of the layout since torch 2.7
constexpr std::string_view kOldProgram = "serialized_exported_program.json";
constexpr std::string_view kModels = "models/";

/// The folder that contains the record `name`; empty when there is no such record.
std::optional<std::string> folder_of(const io::ZipArchive& archive, std::string_view name) {
  for (const Record& record : archive.records()) {
    if (!record.name.ends_with(name)) continue;
    std::string folder = record.name.substr(0, record.name.size() - name.size());
    if (folder.empty() || folder.ends_with('/')) return folder;
  }
  return std::nullopt;
}

class ArchiveReader {
 public:
  ArchiveReader(const io::ZipArchive& archive, std::string file, std::string folder)
      : archive_(archive), file_(std::move(file)), folder_(std::move(folder)) {}

  const Record* find(const std::string& name) const { return archive_.find(folder_ + name); }

  std::string read(const std::string& name) const {
    const Record* record = find(name);
    SPARSEBIT_CHECK(record, InvalidModel, "record '", name, "' is missing");
    return archive_.read(*record);
  }

  /// Names of the programs in the archive: torch.export.save writes one, called "model".
  std::vector<std::string> programs() const {
    constexpr std::string_view suffix = ".json";
    const std::string start = folder_ + std::string(kModels);
    std::vector<std::string> names;
    for (const Record& record : archive_.records()) {
      if (record.name.starts_with(start) && record.name.ends_with(suffix))
        names.push_back(
            record.name.substr(start.size(), record.name.size() - start.size() - suffix.size()));
    }
    return names;
  }

  /// Tensors whose bytes are records of `folder`, which `config` describes.
  Tensors read_payload(const std::string& folder, const std::string& config) const;

  /// A dict that torch.save wrote; empty when the record is missing.
  Tensors read_pickle(const std::string& name) const {
    if (!find(name)) return {};
    return read_pickled_tensors(read(name), file_ + "/" + name);
  }

  Archive read_program() const;

 private:
  at::Tensor read_bytes(const std::string& name) const {
    const Record* record = find(name);
    SPARSEBIT_CHECK(record, InvalidModel, "record '", name, "' is missing");
    at::Tensor bytes = at::empty({static_cast<int64_t>(record->size)}, at::kByte);
    archive_.read(*record, {static_cast<char*>(bytes.data_ptr()), record->size});
    return bytes;
  }

  const io::ZipArchive& archive_;
  std::string file_;    // in error messages
  std::string folder_;  // of its records
};

Tensors ArchiveReader::read_payload(const std::string& folder, const std::string& config) const {
  if (!find(folder + config)) return {};
  const nlohmann::json text = parse_json(read(folder + config), folder + config);
  Tensors storages, distinct, result;
  for (const auto& [name, payload] : JsonValue(text, config)["config"].entries()) {
    const bool pickled = payload["use_pickle"].flag();
    const auto meta = payload.find("tensor_meta");
    SPARSEBIT_CHECK(
        !pickled && meta, Unsupported, "'", name,
        "' is not a plain tensor: Python objects and tensor subclasses are not supported");
    const std::string path = payload["path_name"].text();
    at::Tensor& bytes = storages[path];
    if (!bytes.defined()) bytes = read_bytes(folder + path);
    const StridedLayout layout = strided_layout(*meta);
    const at::Tensor tensor = strided_tensor(bytes, layout, name);
    const std::string key = c10::str(path, " ", layout.offset, " ", tensor.sizes(), " ",
                                     tensor.strides(), " ", tensor.scalar_type());
    result.emplace(name, distinct.emplace(key, tensor).first->second);
  }
  return result;
}

Archive ArchiveReader::read_program() const {
  const std::vector<std::string> names = programs();
  SPARSEBIT_CHECK(!names.empty(), Unsupported,
                  "has no exported program, only compiled code or data; write one with "
                  "torch.export.save");
  SPARSEBIT_CHECK(names.size() == 1, Unsupported, "has several programs (", c10::Join(", ", names),
                  "); save each to a file of its own");
  const std::string program = std::string(kModels) + names[0] + ".json";
  Archive result{.program = parse_json(read(program), program), .weights = {}, .constants = {}};
  const std::string weights = "data/weights/", constants = "data/constants/";
  result.weights = find(weights + names[0] + ".pt")  // as torch 2.7 wrote them
                       ? read_pickle(weights + names[0] + ".pt")
                       : read_payload(weights, names[0] + "_weights_config.json");
  result.constants = find(constants + names[0] + ".pt")
                         ? read_pickle(constants + names[0] + ".pt")
                         : read_payload(constants, names[0] + "_constants_config.json");
  return result;
}

Archive read_old_program(const ArchiveReader& reader) {
  const std::string program(kOldProgram);
  return {.program = parse_json(reader.read(program), program),
          .weights = reader.read_pickle("serialized_state_dict.pt"),
          .constants = reader.read_pickle("serialized_constants.pt")};
}

}  // namespace

Archive load_archive(const std::filesystem::path& path) {
  const MappedFile file(path);
  const io::ZipArchive archive(file.bytes(), path.string());
  if (const auto folder = folder_of(archive, kFormat))
    return ArchiveReader(archive, path.string(), *folder).read_program();
  const auto folder = folder_of(archive, kOldProgram);
  SPARSEBIT_CHECK(folder, InvalidModel, "was not written by torch.export.save");
  return read_old_program(ArchiveReader(archive, path.string(), *folder));
}

}  // namespace pt2

bool looks_like_pt2(std::string_view file) {
  if (!file.starts_with("PK\x03\x04")) return false;
  try {
    const io::ZipArchive archive(file, "");
    return pt2::folder_of(archive, pt2::kFormat) || pt2::folder_of(archive, pt2::kOldProgram);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace sparsebit::frontends
