#include "sparsebit/export/onnxruntime.h"

#include "onnxruntime_runners.h"

#include "sparsebit/core/child_process.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <optional>
#include <span>

namespace sparsebit::exports {
namespace {

using nlohmann::json;

/// Types that libtorch and ONNX Runtime both have, by ONNX Runtime's names.
constexpr std::array<std::pair<const char*, at::ScalarType>, 9> kTypes = {{{"float32", at::kFloat},
                                                                           {"float64", at::kDouble},
                                                                           {"float16", at::kHalf},
                                                                           {"int8", at::kChar},
                                                                           {"int16", at::kShort},
                                                                           {"int32", at::kInt},
                                                                           {"int64", at::kLong},
                                                                           {"uint8", at::kByte},
                                                                           {"bool", at::kBool}}};

json describe(const std::string& name, const at::Tensor& tensor) {
  for (const auto& [type, dtype] : kTypes) {
    if (dtype == tensor.scalar_type())
      return {{"name", name},
              {"type", type},
              {"shape", tensor.sizes().vec()},
              {"bytes", tensor.nbytes()}};
  }
  throw Error(ErrorKind::Unsupported,
              c10::str("ONNX Runtime does not support tensors of type ", tensor.scalar_type()));
}

std::optional<at::ScalarType> dtype_called(const std::string& name) {
  for (const auto& [type, dtype] : kTypes) {
    if (type == name) return dtype;
  }
  return std::nullopt;
}

/// Sends a request with tensors and returns the reply. Throws `kind` with ONNX Runtime's message.
json ask(ChildProcess& process, const json& question, ErrorKind kind,
         std::span<const OnnxRuntime::Tensors> inputs = {}) {
  json asked = question;
  std::vector<at::Tensor> data;
  for (const OnnxRuntime::Tensors& tensors : inputs) {
    for (const auto& [name, tensor] : tensors) {
      data.push_back(tensor.contiguous());
      asked["tensors"].push_back(describe(name, data.back()));
    }
  }
  process.send(asked.dump() + "\n");
  for (const at::Tensor& tensor : data) process.send(tensor.data_ptr(), tensor.nbytes());
  json answer = json::parse(process.receive_line());
  if (!answer.at("ok").get<bool>()) throw Error(kind, answer.at("error").get<std::string>());
  return answer;
}

/// ONNX Runtime leaves an empty log file in TMPDIR at each start; an invalid folder prevents that.
std::map<std::string, std::string> without_logs(std::map<std::string, std::string> environment) {
  environment["TMPDIR"] = "/dev/null";
  return environment;
}

std::unique_ptr<ChildProcess> start_node(const std::filesystem::path& folder) {
  SPARSEBIT_CHECK(std::filesystem::exists(folder / "node_modules" / "onnxruntime-node"), Io,
                  folder.string(), " has no node_modules/onnxruntime-node");
  return std::make_unique<ChildProcess>(
      std::vector<std::string>{"node", "--input-type=module", "--eval", kNodeRunner},
      without_logs({{"SPARSEBIT_ONNXRUNTIME", folder.string()}}));
}

std::unique_ptr<ChildProcess> start_python(const std::string& interpreter) {
  return std::make_unique<ChildProcess>(std::vector<std::string>{interpreter, "-c", kPythonRunner},
                                        without_logs({}));
}

/// PREFIX, or the build folder, of PREFIX/bin/PROGRAM or
/// PREFIX/libexec/sparsebit/sparsebit-program.
std::filesystem::path prefix() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto above = folder.parent_path();
  return above.filename() == "libexec" ? above.parent_path() : above;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The default folder of install_onnxruntime.sh.
std::filesystem::path cache_folder() {
  const std::filesystem::path told = variable("XDG_CACHE_HOME"), home = variable("HOME");
  return (told.empty() ? home / ".cache" : told) / "sparsebit" / "onnxruntime";
}

/// Starts it from SPARSEBIT_ONNXRUNTIME or from the first default location that exists.
std::unique_ptr<ChildProcess> start() {
  if (const std::string told = variable("SPARSEBIT_ONNXRUNTIME"); !told.empty())
    return std::filesystem::is_directory(told) ? start_node(told) : start_python(told);
  for (const auto& folder :
       {prefix() / "onnxruntime", prefix() / "share/sparsebit/onnxruntime", cache_folder()}) {
    if (std::filesystem::is_directory(folder)) return start_node(folder);
  }
  return start_python("python3");
}

/// The command that installs ONNX Runtime.
std::string how_to_install() {
  const auto script = prefix() / "share/sparsebit/install_onnxruntime.sh";
  return std::filesystem::exists(script) ? script.string() : "scripts/install_onnxruntime.sh";
}

}  // namespace

OnnxRuntime::OnnxRuntime() {
  try {
    process_ = start();
    version_ = json::parse(process_->receive_line()).at("version").get<std::string>();
  } catch (const std::exception& e) {  // no such program, or an unexpected reply
    throw Error(ErrorKind::Unsupported,
                c10::str("ONNX Runtime was not found (", e.what(), "): `", how_to_install(),
                         "` installs it for Node.js, or `pip install onnxruntime` and set ",
                         "SPARSEBIT_ONNXRUNTIME to that Python"));
  }
}

OnnxRuntime::~OnnxRuntime() = default;

OnnxRuntime::Tensors OnnxRuntime::by_name(const OrtSession& session,
                                          const std::vector<at::Tensor>& inputs) {
  SPARSEBIT_CHECK(session.inputs.size() == inputs.size(), InvalidModel, "expected ",
                  session.inputs.size(), " inputs, found ", inputs.size());
  Tensors named;
  for (size_t i = 0; i < inputs.size(); ++i) named[session.inputs[i]] = inputs[i];
  return named;
}

OrtSession OnnxRuntime::load(const std::filesystem::path& model, const OrtOptions& options) {
  const json answer = ask(*process_,
                          {{"do", "load"},
                           {"model", std::filesystem::absolute(model).string()},
                           {"optimize", options.optimize},
                           {"threads", options.threads},
                           {"optimized", options.optimized.string()}},
                          ErrorKind::InvalidModel);
  return {answer.at("session").get<int>(), answer.at("inputs").get<std::vector<std::string>>(),
          answer.at("outputs").get<std::vector<std::string>>()};
}

void OnnxRuntime::unload(const OrtSession& session) {
  ask(*process_, {{"do", "unload"}, {"session", session.number}}, ErrorKind::Internal);
}

std::vector<at::Tensor> OnnxRuntime::run(const OrtSession& session, const Tensors& inputs) {
  const json answer = ask(*process_, {{"do", "run"}, {"session", session.number}},
                          ErrorKind::InvalidArgument, {&inputs, 1});
  std::vector<at::Tensor> results;
  std::string unknown;
  for (const json& told : answer.at("tensors")) {
    const std::optional<at::ScalarType> dtype = dtype_called(told.at("type").get<std::string>());
    if (!dtype) unknown = told.at("type").get<std::string>();
    // Tensors of unknown types must be read, too, since the next reply follows them.
    results.push_back(dtype ? at::empty(told.at("shape").get<std::vector<int64_t>>(), *dtype)
                            : at::empty({told.at("bytes").get<int64_t>()}, at::kByte));
    process_->receive(results.back().data_ptr(), results.back().nbytes());
  }
  SPARSEBIT_CHECK(unknown.empty(), Unsupported,
                  "ONNX Runtime returned a tensor of unsupported type ", unknown);
  return results;
}

std::vector<RunTimes> OnnxRuntime::time(const std::vector<OrtSession>& sessions,
                                        const std::vector<Tensors>& inputs, int rounds) {
  json question = {{"do", "time"}, {"rounds", rounds}};
  for (const OrtSession& session : sessions) question["sessions"].push_back(session.number);
  for (const Tensors& tensors : inputs) question["counts"].push_back(tensors.size());
  const json answer = ask(*process_, question, ErrorKind::InvalidArgument, inputs);
  std::vector<RunTimes> times;
  for (size_t i = 0; i < sessions.size(); ++i)
    times.push_back({answer.at("wall").at(i).get<std::vector<double>>(),
                     answer.at("cpu").at(i).get<std::vector<double>>()});
  return times;
}

}  // namespace sparsebit::exports
