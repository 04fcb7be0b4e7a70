#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sparsebit::frontends {

/// Which version of each domain's operators a file uses.
class OperatorSets {
 public:
  using Entries = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

  OperatorSets() = default;
  explicit OperatorSets(const Entries& entries);

  /// Empty when the file does not state it.
  std::optional<int64_t> find(const std::string& domain) const;
  /// Each domain once, the default one as "".
  const std::map<std::string, int64_t>& versions() const { return versions_; }
  void add(const std::string& domain, int64_t version);
  /// 1 when the file does not state it; throws InvalidModel for the default domain.
  int64_t version(const std::string& domain) const;

 private:
  std::map<std::string, int64_t> versions_;
};

}  // namespace sparsebit::frontends
