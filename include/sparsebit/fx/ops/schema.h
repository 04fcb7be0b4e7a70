#pragma once

#include "sparsebit/fx/ops/value.h"

#include <c10/util/Optional.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::fx {

/// One argument of a call, as in a Python signature.
struct Parameter {
  std::string name;
  std::vector<std::string> aliases = {};  ///< other keywords, such as `axis` for `dim`
  std::optional<Value> default_value = {};
  bool keyword_only = false;
  bool variadic = false;  ///< takes all remaining positional arguments, or one list or tuple

  bool answers_to(std::string_view keyword) const;
};

/// A Python-like signature: names, order and defaults of a call's arguments.
///
/// Written as text: `"input, dim|axis=None, *, keepdim=False"`. `a|b` gives an argument a second
/// keyword, a lone `*` makes what follows keyword-only, `*name` is variadic.
class Schema {
 public:
  Schema() = default;
  Schema(const char* text);  // NOLINT, so that `.schema = "input"` reads well
  explicit Schema(std::string_view text);
  explicit Schema(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  const std::vector<Parameter>& parameters() const { return parameters_; }
  size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.empty(); }
  /// Position of the parameter with this name (not alias).
  std::optional<size_t> find(std::string_view name) const;

  /// One slot per parameter: the given value, else the default. A slot is empty only when a
  /// parameter without default was not given, which bind() reports as an error and
  /// bind_partially() leaves to the caller.
  std::vector<std::optional<Value>> bind_partially(std::span<const Value> args,
                                                   const Kwargs& kwargs) const;
  std::vector<Value> bind(std::span<const Value> args, const Kwargs& kwargs) const;

  /// The signature as text, for messages.
  std::string to_string() const;

 private:
  std::vector<Parameter> parameters_;
};

/// Arguments of a call, by name. Conversions say which argument was wrong.
class Args {
 public:
  /// `schema` must outlive this object; `values` has one entry per parameter.
  Args(const Schema& schema, std::vector<Value> values);

  const Schema& schema() const { return *schema_; }
  const std::vector<Value>& values() const { return values_; }
  bool has(std::string_view name) const { return schema_->find(name).has_value(); }
  /// Throws InvalidArgument when the schema has no such name.
  const Value& operator[](std::string_view name) const;

  bool is_none(std::string_view name) const { return (*this)[name].is_none(); }
  at::Tensor tensor(std::string_view name) const;
  c10::optional<at::Tensor> optional_tensor(std::string_view name) const;  ///< None = nullopt
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  c10::optional<int64_t> optional_integer(std::string_view name) const;
  double number(std::string_view name) const;
  c10::optional<double> optional_number(std::string_view name) const;
  at::Scalar scalar(std::string_view name) const;
  c10::optional<at::Scalar> optional_scalar(std::string_view name) const;
  std::string text(std::string_view name) const;
  c10::optional<at::ScalarType> optional_dtype(std::string_view name) const;
  /// A list or tuple of ints; one int counts as a list of one.
  std::vector<int64_t> ints(std::string_view name) const;
  /// As ints(), one element repeated to `count`; any other length is an error.
  std::vector<int64_t> ints(std::string_view name, size_t count) const;
  c10::optional<std::vector<int64_t>> optional_ints(std::string_view name) const;
  std::vector<at::Tensor> tensors(std::string_view name) const;

 private:
  template <class Convert>
  auto convert(std::string_view name, Convert convert) const;

  const Schema* schema_;
  std::vector<Value> values_;
};

}  // namespace sparsebit::fx
