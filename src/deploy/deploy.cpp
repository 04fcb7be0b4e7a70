#include "sparsebit/deploy/deploy.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/deploy/artefact_format.h"

#include <algorithm>
#include <set>

namespace sparsebit::deploy {
namespace {

constexpr const char* kReadme = "README.md";
constexpr const char* kNotRun = "The vendors' tools were not run here";

/// The files of one format.
struct Artefact {
  std::string format;
  std::vector<DeployFile> files;
};

std::vector<Artefact> make_artefacts(const DeployModel& model,
                                     const std::vector<std::string>& formats) {
  std::vector<Artefact> artefacts;
  std::set<std::string> names = {kReadme};
  for (const std::string& format : formats) {
    const ArtefactFormat& entry = artefact_formats().get(format);
    artefacts.push_back(
        {format, with_context([&] { return entry.write(model); },
                              [&] { return "while writing the format '" + format + "'"; })});
    for (const DeployFile& file : artefacts.back().files) {
      SPARSEBIT_CHECK(names.insert(file.name).second, InvalidArgument, "format '", format,
                      "' writes '", file.name, "', a file name that is already in use");
    }
  }
  return artefacts;
}

std::string with_name(std::string text, const std::string& name) {
  const std::string slot = "{name}";
  for (size_t at = text.find(slot); at != std::string::npos; at = text.find(slot, at + name.size()))
    text.replace(at, slot.size(), name);
  return text;
}

/// Counts quantized tensors. A tensor with several quantizers counts once.
size_t count(const quant::QuantModel& model, quant::Target target) {
  std::set<std::string> tensors;
  for (const quant::QuantPoint& point : model.points()) {
    const bool counts =
        point.quantizer->spec().target == target && !point.quantizer->is_off_for_good();
    if (counts) tensors.insert(point.value);
  }
  return tensors.size();
}

/// "- `input`: Float, batch x 3 x 32 x 32"
std::string list_inputs(const quant::QuantModel& model) {
  std::string text;
  for (const fx::Node* input : model.module().graph().placeholders()) {
    text += "- `" + input->target() + "`";
    if (const auto& info = input->tensor_info()) {
      std::vector<std::string> sizes;
      for (size_t i = 0; i < info->shape.size(); ++i) {
        const bool has_symbol = i < info->symbols.size() && !info->symbols[i].empty();
        sizes.push_back(info->shape[i] >= 0 ? std::to_string(info->shape[i])
                        : has_symbol        ? info->symbols[i]
                                            : "?");
      }
      if (!sizes.empty() && model.fixed_batch() == 0) sizes.front() = "batch";
      text += c10::str(": ", c10::toString(info->dtype), ", ", c10::Join(" x ", sizes));
    }
    text += "\n";
  }
  return text;
}

/// Identifies the model and platform of a folder.
std::string marker(const std::string& model_name, const std::string& platform) {
  return "<!-- sparsebit deploy: " + model_name + " for " + platform + " -->";
}

std::string readme(const DeployModel& model, const std::vector<Artefact>& artefacts,
                   const std::string& title) {
  std::string text =
      c10::str("# ", title, "\n\n", marker(model.name(), model.quantized().platform().name),
               "\n\nQuantized: ", count(model.quantized(), quant::Target::Activation),
               " activations and ", count(model.quantized(), quant::Target::Weight),
               " weights. Inputs:\n\n", list_inputs(model.quantized()), "\n", kNotRun,
               ": the files follow their documented formats.\n");
  for (const auto& [format, files] : artefacts) {
    const ArtefactFormat& entry = artefact_formats().get(format);
    for (const DeployFile& file : files) text += "\n## " + file.name + "\n";
    text += c10::str("\n", with_name(entry.summary, model.name()), " (format `", format,
                     "`).\n\nHow to load: ", with_name(entry.how_to_load, model.name()), "\n");
  }
  return text;
}

void check_not_overwritten(const std::filesystem::path& folder,
                           const std::vector<DeployFile>& files,
                           const std::vector<std::filesystem::path>& read) {
  std::error_code none;
  for (const DeployFile& file : files) {
    for (const auto& input : read) {
      SPARSEBIT_CHECK(!std::filesystem::equivalent(folder / file.name, input, none),
                      InvalidArgument, (folder / file.name).string(),
                      ": this input file would be overwritten; choose another folder or --name");
    }
  }
}

std::vector<std::filesystem::path> stage_files(OutputSet& outputs,
                                               const std::filesystem::path& folder,
                                               const std::vector<DeployFile>& files) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  SPARSEBIT_CHECK(!failed, Io, folder.string(), ": ", failed.message());
  std::vector<std::filesystem::path> paths;
  for (const DeployFile& file : files) {
    paths.push_back(folder / file.name);
    write_file_atomically(outputs.stage(paths.back()), file.content);
  }
  return paths;
}

}  // namespace

void check_deploy_folder(const std::filesystem::path& folder, const std::string& model_name,
                         const std::string& platform) {
  const auto readme = folder / kReadme;
  std::error_code none;
  if (!std::filesystem::exists(readme, none)) return;
  const std::string there = read_file(readme);
  const std::string start = "<!-- sparsebit deploy: ", end = " -->";
  const size_t at = there.find(start);
  SPARSEBIT_CHECK(at != std::string::npos, InvalidArgument, readme.string(),
                  ": this README.md was not written by deploy; choose another folder");
  if (there.find(marker(model_name, platform)) != std::string::npos) return;
  const size_t from = at + start.size();
  throw Error(
      ErrorKind::InvalidArgument,
      c10::str(folder.string(), ": this folder has the files of ",
               there.substr(from, there.find(end, from) - from), "; choose another folder"));
}

std::vector<std::filesystem::path> stage_deploy(OutputSet& outputs, const quant::QuantModel& model,
                                                const std::vector<std::string>& formats,
                                                const std::filesystem::path& folder,
                                                const std::string& model_name,
                                                const std::string& title,
                                                const std::vector<std::filesystem::path>& read) {
  SPARSEBIT_CHECK(!formats.empty(), InvalidArgument,
                  "deploy: no formats given; expected at least one");
  SPARSEBIT_CHECK(!model_name.empty() && model_name.find('/') == std::string::npos, InvalidArgument,
                  "deploy: '", model_name, "' is not a valid file name");
  const DeployModel view(model, model_name);
  std::vector<Artefact> artefacts = make_artefacts(view, formats);
  DeployFile about{kReadme, readme(view, artefacts, title)};
  std::vector<DeployFile> files;
  for (Artefact& artefact : artefacts)
    std::move(artefact.files.begin(), artefact.files.end(), std::back_inserter(files));
  files.push_back(std::move(about));
  check_deploy_folder(folder, model_name, model.platform().name);
  check_not_overwritten(folder, files, read);
  return stage_files(outputs, folder, files);
}

std::vector<std::filesystem::path> deploy(const quant::QuantModel& model,
                                          const std::vector<std::string>& formats,
                                          const std::filesystem::path& folder,
                                          const std::string& model_name, const std::string& title,
                                          const std::vector<std::filesystem::path>& read) {
  OutputSet outputs;
  auto files = stage_deploy(outputs, model, formats, folder, model_name, title, read);
  outputs.commit();
  return files;
}

}  // namespace sparsebit::deploy
