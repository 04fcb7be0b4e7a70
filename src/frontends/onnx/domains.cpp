#include "frontends/onnx/domains.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_file.h"

namespace sparsebit::frontends {
namespace {

std::string key_of(const std::string& domain) {
  return io::is_default_domain(domain) ? "" : domain;
}

}  // namespace

OperatorSets::OperatorSets(const Entries& entries) {
  for (const onnx::OperatorSetIdProto& entry : entries) add(entry.domain(), entry.version());
}

void OperatorSets::add(const std::string& domain, int64_t version) {
  versions_[key_of(domain)] = version;
}

std::optional<int64_t> OperatorSets::find(const std::string& domain) const {
  const auto it = versions_.find(key_of(domain));
  return it == versions_.end() ? std::nullopt : std::optional(it->second);
}

int64_t OperatorSets::version(const std::string& domain) const {
  const std::optional<int64_t> stated = find(domain);
  SPARSEBIT_CHECK(stated || !io::is_default_domain(domain), InvalidModel,
                  "opset_import states no version of ONNX's own operators");
  return stated.value_or(1);
}

}  // namespace sparsebit::frontends
