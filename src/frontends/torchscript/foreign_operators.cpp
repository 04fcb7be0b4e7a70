#include "frontends/torchscript/foreign_operators.h"

#include "frontends/torchscript/called_names.h"
#include "sparsebit/core/error.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <map>
#include <mutex>
#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

namespace jit = torch::jit;

/// Operators in `code`, which writes them as `ops.torchvision.nms(`.
std::set<std::string> called_operators(std::string_view code) {
  std::set<std::string> operators;
  for (const std::string& called : called_names(code, "ops.")) {
    const size_t dot = called.find('.');
    if (dot == std::string::npos || called.find('.', dot + 1) != std::string::npos) continue;
    const std::string library = called.substr(0, dot), name = called.substr(dot + 1);
    if (library.empty() || name.empty() || library == "aten" || library == "prim") continue;
    operators.insert(library + "::" + name);
  }
  return operators;
}

/// Result types of known operators that do not return a single tensor.
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
  constexpr size_t kMost = 4096;  // bounds memory: libtorch never releases registered operators
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
