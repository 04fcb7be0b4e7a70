#include "sparsebit/export/onnxruntime.h"

#include "onnxruntime_runners.h"

#include "export/onnxruntime/onnxruntime_answer.h"
#include "sparsebit/core/child_process.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/core/printable_text.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>

namespace sparsebit::exports {
namespace {

using nlohmann::json;

json describe(const std::string& name, const at::Tensor& tensor) {
  const std::optional<std::string> type = ort_type(tensor.scalar_type());
  SPARSEBIT_CHECK(type, Unsupported, "ONNX Runtime does not support tensors of type ",
                  tensor.scalar_type());
  return {
      {"name", name}, {"type", *type}, {"shape", tensor.sizes().vec()}, {"bytes", tensor.nbytes()}};
}

/// The request as one line. Throws InvalidArgument for names and paths that are not UTF-8.
std::string line_of(const json& question, const std::string& asked) {
  try {
    return question.dump() + "\n";
  } catch (const json::exception&) {
    throw Error(ErrorKind::InvalidArgument, c10::str("ONNX Runtime cannot be asked to ", asked,
                                                     ": a name or path is not UTF-8; rename it"));
  }
}

/// Returns what `read` reads from a reply. Kills the process when that fails: where the next reply
/// begins is unknown then.
template <class Read>
auto understood(ChildProcess& process, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    process.fail(e);
  } catch (const std::exception& e) {  // no memory
    process.fail(Error(ErrorKind::TooLarge, message_of(e)));
  }
}

/// Sends a request with tensors and returns the reply. Throws `kind` with ONNX Runtime's message.
/// @param asked  the request in words, for messages: "load model.onnx".
OrtAnswer ask(ChildProcess& process, const std::string& asked, const json& question, ErrorKind kind,
              std::span<const OnnxRuntime::Tensors> inputs = {}) {
  json with_tensors = question;
  std::vector<at::Tensor> data;
  for (const OnnxRuntime::Tensors& tensors : inputs) {
    for (const auto& [name, tensor] : tensors) {
      data.push_back(tensor.contiguous());
      with_tensors["tensors"].push_back(describe(name, data.back()));
    }
  }
  const std::string line = line_of(with_tensors, asked);
  process.begin(asked);
  process.send(line);
  for (const at::Tensor& tensor : data) process.send(tensor.data_ptr(), tensor.nbytes());
  const std::string reply = process.receive_line();
  std::string error;
  OrtAnswer answer = understood(process, [&] {
    OrtAnswer read(reply);
    if (!read.flag("ok")) error = read.text("error");
    return read;
  });
  if (!answer.flag("ok")) throw Error(kind, error);
  return answer;
}

// --- starting it --------------------------------------------------------------------------------

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The time limit of SPARSEBIT_RUNTIME_SECONDS. Throws InvalidArgument unless it is positive.
ChildProcess::Limits limits() {
  constexpr const char* kName = "SPARSEBIT_RUNTIME_SECONDS";
  ChildProcess::Limits limits{
      .remedy = c10::str(kName, "=N in the environment gives it N seconds for each answer")};
  const std::string told = variable(kName);
  if (told.empty()) return limits;
  const char* const end = told.data() + told.size();
  const auto [stop, error] = std::from_chars(told.data(), end, limits.seconds);
  SPARSEBIT_CHECK(
      error == std::errc() && stop == end && limits.seconds > 0 && std::isfinite(limits.seconds),
      InvalidArgument, kName, ": expected a positive number of seconds, found '", printable(told),
      "'");
  return limits;
}

/// ONNX Runtime leaves an empty log file in TMPDIR at each start; an invalid folder prevents that.
std::map<std::string, std::string> without_logs(std::map<std::string, std::string> environment) {
  environment["TMPDIR"] = "/dev/null";
  return environment;
}

std::unique_ptr<ChildProcess> start_node(const std::filesystem::path& folder,
                                         const ChildProcess::Limits& limits) {
  SPARSEBIT_CHECK(std::filesystem::exists(folder / "node_modules" / "onnxruntime-node"), Io,
                  folder.string(), " has no node_modules/onnxruntime-node");
  return std::make_unique<ChildProcess>(
      std::vector<std::string>{"node", "--input-type=module", "--eval", kNodeRunner},
      without_logs({{"SPARSEBIT_ONNXRUNTIME", folder.string()}}), limits);
}

std::unique_ptr<ChildProcess> start_python(const std::string& interpreter,
                                           const ChildProcess::Limits& limits) {
  return std::make_unique<ChildProcess>(std::vector<std::string>{interpreter, "-c", kPythonRunner},
                                        without_logs({}), limits);
}

/// PREFIX, or the build folder, of PREFIX/bin/PROGRAM or
/// PREFIX/libexec/sparsebit/sparsebit-program.
std::filesystem::path prefix() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto above = folder.parent_path();
  return above.filename() == "libexec" ? above.parent_path() : above;
}

/// The default folder of install_onnxruntime.sh.
std::filesystem::path cache_folder() {
  const std::filesystem::path told = variable("XDG_CACHE_HOME"), home = variable("HOME");
  return (told.empty() ? home / ".cache" : told) / "sparsebit" / "onnxruntime";
}

/// Starts it from SPARSEBIT_ONNXRUNTIME or from the first default location that exists.
std::unique_ptr<ChildProcess> start(const ChildProcess::Limits& limits) {
  if (const std::string told = variable("SPARSEBIT_ONNXRUNTIME"); !told.empty())
    return std::filesystem::is_directory(told) ? start_node(told, limits)
                                               : start_python(told, limits);
  for (const auto& folder :
       {prefix() / "onnxruntime", prefix() / "share/sparsebit/onnxruntime", cache_folder()}) {
    if (std::filesystem::is_directory(folder)) return start_node(folder, limits);
  }
  return start_python("python3", limits);
}

/// Throws TooLarge when the tensors that a reply announces exceed the memory limit.
void check_results_fit(const std::vector<OrtTensor>& tensors, const std::string& file) {
  int64_t bytes = 0;
  for (const OrtTensor& tensor : tensors) {
    if (__builtin_add_overflow(bytes, tensor.bytes, &bytes))
      bytes = std::numeric_limits<int64_t>::max();
  }
  check_memory(bytes, "the answer of ONNX Runtime with " + file);
}

/// The command that installs ONNX Runtime.
std::string how_to_install() {
  const auto script = prefix() / "share/sparsebit/install_onnxruntime.sh";
  return std::filesystem::exists(script) ? script.string() : "scripts/install_onnxruntime.sh";
}

}  // namespace

OnnxRuntime::OnnxRuntime() {
  const ChildProcess::Limits allowed = limits();
  try {
    process_ = start(allowed);
    constexpr double kSeconds = 60;
    process_->begin("start", kSeconds);
    version_ = OrtAnswer(process_->receive_line()).text("version");
  } catch (const Error& e) {              // no such program, or an unexpected reply
    if (e.kind() == ErrorKind::TooLarge)  // it hangs, or floods
      throw with_prefix("ONNX Runtime did not start: ", e, e.kind());
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
  const std::string file = printable(model.string());
  const OrtAnswer answer = ask(*process_, "load " + file,
                               {{"do", "load"},
                                {"model", std::filesystem::absolute(model).string()},
                                {"optimize", options.optimize},
                                {"threads", options.threads},
                                {"optimized", options.optimized.string()}},
                               ErrorKind::InvalidModel);
  return understood(*process_, [&] {
    return OrtSession{answer.number("session"), answer.texts("inputs"), answer.texts("outputs"),
                      file};
  });
}

void OnnxRuntime::unload(const OrtSession& session) {
  ask(*process_, "unload " + session.file, {{"do", "unload"}, {"session", session.number}},
      ErrorKind::Internal);
}

std::vector<at::Tensor> OnnxRuntime::run(const OrtSession& session, const Tensors& inputs) {
  const OrtAnswer answer =
      ask(*process_, "run " + session.file, {{"do", "run"}, {"session", session.number}},
          ErrorKind::InvalidArgument, {&inputs, 1});
  std::string unknown;
  std::vector<at::Tensor> results = understood(*process_, [&] {
    const std::vector<OrtTensor> tensors = answer.tensors("tensors", session.outputs.size());
    check_results_fit(tensors, session.file);
    std::vector<at::Tensor> places;
    for (const OrtTensor& tensor : tensors) {
      if (!tensor.dtype) unknown = tensor.type;
      // Tensors of unknown types must be read, too, since the next reply follows them.
      places.push_back(tensor.dtype ? at::empty(tensor.shape, *tensor.dtype)
                                    : at::empty({tensor.bytes}, at::kByte));
    }
    return places;
  });
  for (at::Tensor& result : results) process_->receive(result.data_ptr(), result.nbytes());
  SPARSEBIT_CHECK(unknown.empty(), Unsupported,
                  "ONNX Runtime returned a tensor of unsupported type ", printable(unknown));
  return results;
}

std::vector<RunTimes> OnnxRuntime::time(const std::vector<OrtSession>& sessions,
                                        const std::vector<Tensors>& inputs, int rounds) {
  json question = {{"do", "time"}, {"rounds", rounds}};
  std::string asked = "time";
  for (const OrtSession& session : sessions) {
    question["sessions"].push_back(session.number);
    asked += " " + session.file;
  }
  for (const Tensors& tensors : inputs) question["counts"].push_back(tensors.size());
  const OrtAnswer answer = ask(*process_, asked, question, ErrorKind::InvalidArgument, inputs);
  return understood(*process_, [&] {
    const auto count = static_cast<size_t>(rounds);
    const auto wall = answer.table("wall", sessions.size(), count);
    const auto cpu = answer.table("cpu", sessions.size(), count);
    std::vector<RunTimes> times;
    for (size_t i = 0; i < sessions.size(); ++i) times.push_back({wall[i], cpu[i]});
    return times;
  });
}

}  // namespace sparsebit::exports
