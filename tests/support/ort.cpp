#include "support/ort.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/npy.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace sparsebit::test {
namespace {

using nlohmann::json;

/// A word for the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string runner() {
  const char* const choice = std::getenv("SPARSEBIT_ORT");
  const std::string scripts = SPARSEBIT_SCRIPTS;
  if (choice != nullptr && std::string(choice) == "python") {
    return "python3 " + quoted(scripts + "/ort_run.py");
  }
  return "SPARSEBIT_ONNXRUNTIME=" + quoted(SPARSEBIT_ONNXRUNTIME) + " node " +
         quoted(scripts + "/ort_run.mjs");
}

std::filesystem::path folder_of(const TempDir& dir, size_t index) {
  return dir / std::to_string(index);
}

json describe(const OrtCase& c, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  json inputs = json::object();
  for (const auto& [name, tensor] : c.inputs) {
    const std::string path = folder / ("input" + std::to_string(inputs.size()) + ".npy");
    io::save_npy(path, tensor);
    inputs[name] = path;
  }
  json entry = {{"model", std::filesystem::absolute(c.model).string()},
                {"inputs", inputs},
                {"outputs", folder.string()},
                {"optimize", c.optimize},
                {"threads", c.threads}};
  if (!c.optimized.empty()) entry["optimized"] = std::filesystem::absolute(c.optimized).string();
  return entry;
}

OrtResult read_result(const json& line, const std::filesystem::path& folder) {
  OrtResult result;
  if (!line.at("ok").get<bool>()) {
    result.error = line.at("error").get<std::string>();
    return result;
  }
  result.names = line.at("names").get<std::vector<std::string>>();
  try {
    for (size_t i = 0; i < result.names.size(); ++i) {
      result.outputs.push_back(io::load_npy(folder / (std::to_string(i) + ".npy")));
    }
  } catch (const Error& e) {  // a type libtorch does not have
    return {.error = e.what(), .names = result.names, .outputs = {}};
  }
  return result;
}

}  // namespace

std::vector<OrtResult> run_onnxruntime(const std::vector<OrtCase>& cases) {
  const TempDir dir;
  json manifest = json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    manifest.push_back(describe(cases[i], folder_of(dir, i)));
  }
  const std::string path = dir / "manifest.json";
  write_file_atomically(path, manifest.dump());
  const std::string command =
      runner() + " " + quoted(path) + " >" + quoted(dir / "out") + " 2>" + quoted(dir / "err");
  const int status = std::system(command.c_str());

  std::vector<OrtResult> results;
  std::istringstream lines(read_file(dir / "out"));
  for (std::string line; std::getline(lines, line);) {
    results.push_back(read_result(json::parse(line), folder_of(dir, results.size())));
  }
  if (status != 0 || results.size() != cases.size()) {
    throw std::runtime_error("ONNX Runtime ended with status " + std::to_string(status) +
                             " after " + std::to_string(results.size()) + " of " +
                             std::to_string(cases.size()) + " models: " + read_file(dir / "err"));
  }
  return results;
}

}  // namespace sparsebit::test
