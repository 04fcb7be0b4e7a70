#pragma once

#include "export/writer.h"

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/node.h"
#include "sparsebit/fx/ops/schema.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::exports {

/// Gives converters the values of our graph.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  virtual NodeResult value_of(const fx::Node& node) = 0;
  /// Dotted path of a tensor of the model, "" for any other.
  virtual std::string path_of(const at::Tensor& tensor) const = 0;
  /// Whether at most one node uses a tensor of the model.
  virtual bool used_once(const at::Tensor& tensor) const = 0;
};

/// One operator call that is being exported to ONNX.
///
/// Arguments are read by the names of the operator's schema. integer(), ints(), flag(), ... need a
/// constant and throw Unsupported, naming the argument, when it is computed in the graph; val(),
/// tensor() and int_vector() take either.
class Call {
 public:
  Call(const fx::Node& node, const fx::Args& args, GraphWriter& writer, ValueSource& source);

  const fx::Node& node() const { return node_; }
  GraphWriter& w;

  bool is_none(std::string_view name) const { return args_.is_none(name); }
  const fx::Args& args() const { return args_; }  ///< nodes with known values replaced by these
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> ints(std::string_view name) const;
  std::vector<int64_t> ints(std::string_view name, size_t count) const;

  NodeResult val(std::string_view name);
  NodeResult value(const fx::Value& value);
  /// A tensor; numbers become 0-dim tensors of their own type.
  OnnxTensor tensor(std::string_view name) { return sym(val(name)); }
  /// Absent when the argument is None.
  OnnxTensor optional(std::string_view name) { return is_none(name) ? OnnxTensor{} : tensor(name); }
  std::vector<NodeResult> items(std::string_view name);
  std::vector<OnnxTensor> tensors(std::string_view name);
  OnnxTensor sym(const NodeResult& value);
  /// Numbers, known or not, as int64[n]; one number counts as a list of one.
  OnnxTensor int_vector(const NodeResult& value);
  OnnxTensor int_vector(std::string_view name) { return int_vector(val(name)); }
  /// As 0-dim tensor of type `dtype`.
  OnnxTensor scalar(const NodeResult& value, at::ScalarType dtype);
  /// An operand of an elementwise operator, converted to `dtype`.
  OnnxTensor operand(const NodeResult& value, at::ScalarType dtype);

  /// The parameter or buffer that is the argument; undefined if it is neither.
  at::Tensor model_tensor(std::string_view name) const;
  const ValueSource& source() const { return source_; }

  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  template <class Read>
  auto known(std::string_view name, Read read) const;

  const fx::Node& node_;
  ValueSource& source_;
  fx::Args args_;
};

/// Exports one call and returns its result; for an in-place operator, the new content.
using Converter = std::function<NodeResult(Call&)>;
using Converters = Registry<Converter>;

/// All converters by canonical operator name.
const Converters& converters();

/// torch's type promotion of an elementwise operator: numbers count less than 0-dim tensors, and
/// these less than other tensors.
at::ScalarType result_type(const NodeResult& a, const NodeResult& b);
at::ScalarType dtype_of(const NodeResult& value);
/// Whether a value is a tensor, constant or not.
bool holds_tensor(const NodeResult& value);
/// Runtimes have arithmetic kernels for some types only: bools and narrow integers become int32.
at::ScalarType computable(at::ScalarType dtype);

}  // namespace sparsebit::exports
