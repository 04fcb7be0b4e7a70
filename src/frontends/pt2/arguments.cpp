#include "frontends/pt2/arguments.h"

#include "frontends/pt2/tensor_meta.h"
#include "sparsebit/core/error.h"

#include <map>

namespace sparsebit::frontends::pt2 {
namespace {

using fx::Value;
using Reader = Value (*)(const JsonValue&, const Environment&);

template <Reader read>
Value list_of(const JsonValue& value, const Environment& environment) {
  std::vector<Value> items;
  for (const JsonValue& item : value.items()) items.push_back(read(item, environment));
  return fx::List(std::move(items));
}

Value none(const JsonValue&, const Environment&) { return {}; }
Value integer(const JsonValue& value, const Environment&) { return value.integer(); }
Value real(const JsonValue& value, const Environment&) { return value.number(); }
Value flag(const JsonValue& value, const Environment&) { return value.flag(); }
Value text(const JsonValue& value, const Environment&) { return value.text(); }
Value dtype(const JsonValue& value, const Environment&) { return scalar_type(value); }
Value device(const JsonValue&, const Environment&) { return at::Device(at::kCPU); }
Value tensor(const JsonValue& value, const Environment& environment) {
  return look_up(environment, value["name"]);
}

Value memory_format(const JsonValue& value, const Environment&) {
  switch (value.integer()) {
    case 2:
      return "torch.channels_last";
    case 3:
      return "torch.channels_last_3d";
    case 4:
      return "torch.preserve_format";
    default:
      return {};
  }
}

/// A number, or the value of a symbol.
Value symbol(const JsonValue& value, const Environment& environment) {
  const auto [kind, content] = value.alternative();
  if (kind == "as_name") return look_up(environment, content);
  if (kind == "as_int") return content.integer();
  if (kind == "as_float") return content.number();
  if (kind == "as_bool") return content.flag();
  content.fail("is neither a number nor the name of a symbol");
}

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> all = {
      {"as_none", none},
      {"as_int", integer},
      {"as_ints", list_of<integer>},
      {"as_int_lists", list_of<list_of<integer>>},
      {"as_float", real},
      {"as_floats", list_of<real>},
      {"as_float_lists", list_of<list_of<real>>},
      {"as_bool", flag},
      {"as_bools", list_of<flag>},
      {"as_string", text},
      {"as_strings", list_of<text>},
      {"as_tensor", tensor},
      {"as_tensors", list_of<tensor>},
      {"as_nested_tensors", list_of<list_of<tensor>>},
      {"as_optional_tensor", read_argument},
      {"as_optional_tensors", list_of<read_argument>},
      {"as_sym_int", symbol},
      {"as_sym_ints", list_of<symbol>},
      {"as_sym_float", symbol},
      {"as_sym_floats", list_of<symbol>},
      {"as_sym_bool", symbol},
      {"as_sym_bools", list_of<symbol>},
      {"as_scalar_type", dtype},
      {"as_memory_format", memory_format},
      {"as_layout", none},
      {"as_device", device},
  };
  return all;
}

}  // namespace

const Value& look_up(const Environment& environment, const JsonValue& name) {
  const auto found = environment.find(name.text());
  if (found == environment.end()) name.fail("is '" + name.text() + "', which is not defined");
  return found->second;
}

Value read_argument(const JsonValue& argument, const Environment& environment) {
  const auto [kind, value] = argument.alternative();
  const auto reader = readers().find(kind);
  SPARSEBIT_CHECK(reader != readers().end(), Unsupported, "an argument of kind '",
                  kind.starts_with("as_") ? kind.substr(3) : kind, "' is not supported (",
                  argument.place(), ")");
  return reader->second(value, environment);
}

}  // namespace sparsebit::frontends::pt2
