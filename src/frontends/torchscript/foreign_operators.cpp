#include "frontends/torchscript/foreign_operators.h"

#include "sparsebit/core/error.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <cctype>
#include <map>
#include <mutex>
#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

namespace jit = torch::jit;

std::string_view read_identifier(std::string_view text) {
  size_t size = 0;
  while (size < text.size() &&
         (text[size] == '_' || std::isalnum(static_cast<unsigned char>(text[size])))) {
    ++size;
  }
  return text.substr(0, size);
}

/// Operators in `code`, which writes them as `ops.torchvision.nms(`.
std::set<std::string> called_operators(std::string_view code) {
  constexpr std::string_view kPrefix = "ops.";
  std::set<std::string> names;
  for (size_t at = code.find(kPrefix); at != std::string_view::npos; at = code.find(kPrefix, at)) {
    at += kPrefix.size();
    const std::string_view space = read_identifier(code.substr(at));
    if (space.empty() || !code.substr(at + space.size()).starts_with('.')) continue;
    const std::string_view name = read_identifier(code.substr(at + space.size() + 1));
    if (name.empty() || space == "aten" || space == "prim") continue;
    names.insert(std::string(space) + "::" + std::string(name));
  }
  return names;
}

/// Results of those that are known to give no single tensor.
std::string results_of(const std::string& name) {
  static const std::map<std::string, std::string> others = {
      {"torchvision::roi_pool", "(Tensor, Tensor)"},
      {"torchvision::ps_roi_align", "(Tensor, Tensor)"},
      {"torchvision::ps_roi_pool", "(Tensor, Tensor)"},
      {"torchvision::_cuda_version", "int"}};
  const auto found = others.find(name);
  return found == others.end() ? "Tensor" : found->second;
}

void declare(const std::string& name) {
  const auto fail = [name](jit::Stack&) {
    throw Error(ErrorKind::Unsupported, "operator " + name + " of another library cannot be run");
  };
  jit::registerOperator(jit::Operator(name + "(...) -> " + results_of(name), jit::Operation(fail),
                                      c10::AliasAnalysisKind::CONSERVATIVE));
}

}  // namespace

std::vector<std::string> declare_foreign_operators(std::string_view code) {
  constexpr size_t kMost = 4096;  // libtorch keeps them for good, whatever files ask for
  static std::mutex mutex;
  static std::set<std::string> declared;
  const std::lock_guard lock(mutex);
  std::vector<std::string> foreign;
  for (const std::string& name : called_operators(code)) {
    const bool known = !jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty();
    if (known && !declared.contains(name)) continue;
    foreign.push_back(name);
    if (known || declared.size() >= kMost) continue;
    declare(name);
    declared.insert(name);
  }
  return foreign;
}

}  // namespace sparsebit::frontends::torchscript
