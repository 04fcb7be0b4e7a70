#include "sparsebit/fx/ops/schema.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/ops/value_text.h"

#include <algorithm>

namespace sparsebit::fx {
namespace {

Parameter read_parameter(ValueReader& reader, bool keyword_only) {
  Parameter parameter;
  parameter.variadic = reader.try_consume("*");
  parameter.keyword_only = keyword_only;
  parameter.name = reader.read_name();
  if (parameter.name.empty()) reader.fail("an argument name");
  while (reader.try_consume("|")) parameter.aliases.emplace_back(reader.read_name());
  if (reader.try_consume("=")) parameter.default_value = reader.read_value();
  return parameter;
}

/// `f(1, 2)` and `f((1, 2))` mean the same for a variadic argument.
Value collect_variadic(std::span<const Value> rest) {
  if (rest.size() == 1 && rest[0].is_sequence()) return List(rest[0].items());
  return List(std::vector<Value>(rest.begin(), rest.end()));
}

size_t most_positional(const std::vector<Parameter>& parameters) {
  return std::count_if(parameters.begin(), parameters.end(),
                       [](const Parameter& p) { return !p.keyword_only; });
}

[[noreturn]] void fail_unknown_keyword(const std::string& keyword, const Schema& schema) {
  std::vector<std::string> known;
  for (const Parameter& p : schema.parameters()) known.push_back(p.name);
  throw Error(ErrorKind::InvalidArgument,
              c10::str("unknown argument '", keyword, "'", did_you_mean(keyword, known),
                       "; the signature is (", schema.to_string(), ")"));
}

}  // namespace

bool Parameter::answers_to(std::string_view keyword) const {
  return name == keyword || std::find(aliases.begin(), aliases.end(), keyword) != aliases.end();
}

Schema::Schema(const char* text) : Schema(std::string_view(text)) {}

Schema::Schema(std::string_view text) {
  ValueReader reader(text, "signature '" + std::string(text) + "'");
  bool keyword_only = false;
  for (bool first = true; !reader.at_end(); first = false) {
    if (!first) reader.expect(",");
    if (reader.try_consume("*,")) keyword_only = true;
    parameters_.push_back(read_parameter(reader, keyword_only));
  }
}

std::optional<size_t> Schema::find(std::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<std::optional<Value>> Schema::bind_partially(std::span<const Value> args,
                                                         const Kwargs& kwargs) const {
  std::vector<std::optional<Value>> slots(parameters_.size());
  size_t used = 0;
  for (size_t i = 0; i < parameters_.size() && used < args.size(); ++i) {
    if (parameters_[i].keyword_only) break;
    if (parameters_[i].variadic) {
      slots[i] = collect_variadic(args.subspan(used));
      used = args.size();
    } else {
      slots[i] = args[used++];
    }
  }
  SPARSEBIT_CHECK(used == args.size(), InvalidArgument, "takes at most ",
                  most_positional(parameters_), " positional arguments, got ", args.size(),
                  "; the signature is (", to_string(), ")");
  for (const auto& [keyword, value] : kwargs) {
    const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                                 [&](const Parameter& p) { return p.answers_to(keyword); });
    if (it == parameters_.end()) fail_unknown_keyword(keyword, *this);
    std::optional<Value>& slot = slots[it - parameters_.begin()];
    SPARSEBIT_CHECK(!slot, InvalidArgument, "argument '", keyword, "' is given twice");
    slot = it->variadic ? collect_variadic({&value, 1}) : value;
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!slots[i]) slots[i] = parameters_[i].default_value;
  }
  return slots;
}

std::vector<Value> Schema::bind(std::span<const Value> args, const Kwargs& kwargs) const {
  std::vector<std::optional<Value>> slots = bind_partially(args, kwargs);
  std::vector<Value> values;
  values.reserve(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    SPARSEBIT_CHECK(slots[i], InvalidArgument, "argument '", parameters_[i].name,
                    "' is missing; the signature is (", to_string(), ")");
    values.push_back(std::move(*slots[i]));
  }
  return values;
}

std::string Schema::to_string() const {
  std::string text;
  bool keyword_only = false;
  for (const Parameter& p : parameters_) {
    if (!text.empty()) text += ", ";
    if (p.keyword_only && !keyword_only) text += "*, ";
    keyword_only = p.keyword_only;
    text += (p.variadic ? "*" : "") + p.name;
    if (p.default_value) {
      text += "=" + format_value(*p.default_value, [](const Node&) { return std::string(); });
    }
  }
  return text;
}

Args::Args(const Schema& schema, std::vector<Value> values)
    : schema_(&schema), values_(std::move(values)) {
  SPARSEBIT_CHECK(schema.size() == values_.size(), Internal, "arguments do not fit the signature (",
                  schema.to_string(), ")");
}

const Value& Args::operator[](std::string_view name) const {
  const std::optional<size_t> index = schema_->find(name);
  SPARSEBIT_CHECK(index, InvalidArgument, "there is no argument '", name, "' in the signature (",
                  schema_->to_string(), ")");
  return values_[*index];
}

template <class Convert>
auto Args::convert(std::string_view name, Convert convert) const {
  try {
    return convert((*this)[name]);
  } catch (Error& e) {
    e.add_context(c10::str("in argument '", name, "'"));
    throw;
  }
}

at::Tensor Args::tensor(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.tensor(); });
}

c10::optional<at::Tensor> Args::optional_tensor(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return tensor(name);
}

bool Args::flag(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.to_bool(); });
}

int64_t Args::integer(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.to_int(); });
}

c10::optional<int64_t> Args::optional_integer(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return integer(name);
}

double Args::number(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.to_double(); });
}

c10::optional<double> Args::optional_number(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return number(name);
}

at::Scalar Args::scalar(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.to_scalar(); });
}

c10::optional<at::Scalar> Args::optional_scalar(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return scalar(name);
}

std::string Args::text(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.string(); });
}

c10::optional<at::ScalarType> Args::optional_dtype(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return convert(name, [](const Value& v) { return v.dtype(); });
}

std::vector<int64_t> Args::ints(std::string_view name) const {
  return convert(name, [](const Value& v) {
    return v.is_sequence() ? v.ints() : std::vector<int64_t>{v.to_int()};
  });
}

std::vector<int64_t> Args::ints(std::string_view name, size_t count) const {
  std::vector<int64_t> values = ints(name);
  if (values.size() == 1) values.resize(count, values[0]);
  SPARSEBIT_CHECK(values.size() == count, InvalidArgument, "argument '", name,
                  "' must be one int or ", count, ", got ", values.size());
  return values;
}

c10::optional<std::vector<int64_t>> Args::optional_ints(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return ints(name);
}

std::vector<at::Tensor> Args::tensors(std::string_view name) const {
  return convert(name, [](const Value& v) { return v.tensors(); });
}

}  // namespace sparsebit::fx
