#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace sparsebit::fx {
namespace {

using at::Tensor;

Value shape_of(const Tensor& x) {
  return Tuple(std::vector<Value>(x.sizes().begin(), x.sizes().end()));
}

using Attribute = std::function<Value(const Tensor&)>;

const std::map<std::string, Attribute>& tensor_attributes() {
  static const std::map<std::string, Attribute> table = {
      {"shape", shape_of},
      {"dtype", [](const Tensor& x) { return x.scalar_type(); }},
      {"device", [](const Tensor& x) { return x.device(); }},
      {"ndim", [](const Tensor& x) { return x.dim(); }},
      {"T", [](const Tensor& x) { return x.numpy_T(); }},
      {"mT", [](const Tensor& x) { return x.mT(); }},
      {"data", [](const Tensor& x) { return x.detach(); }},
      {"requires_grad", [](const Tensor& x) { return x.requires_grad(); }},
      {"is_cuda", [](const Tensor& x) { return x.is_cuda(); }},
  };
  return table;
}

[[noreturn]] void fail_attribute(const std::string& owner, const std::string& name,
                                 const std::vector<std::string>& known) {
  throw Error(ErrorKind::InvalidArgument,
              c10::str(owner, " has no attribute '", name, "'", did_you_mean(name, known),
                       "; known: ", c10::Join(", ", known)));
}

Value get_attribute(const Args& a) {
  const Value& object = a["input"];
  const std::string name = a.text("name");
  if (object.is<at::Device>()) {
    if (name == "type") return at::DeviceTypeName(object.device().type(), /*lower_case=*/true);
    if (name == "index")
      return object.device().has_index() ? Value(int{object.device().index()}) : None();
    fail_attribute("a device", name, {"type", "index"});
  }
  if (object.is<Tuple>()) {  // torch.max(x, 1).values and the like: tuples here have no field names
    if (object.items().size() == 2 && name == "values") return object.items()[0];
    if (object.items().size() == 2 && name == "indices") return object.items()[1];
    fail_attribute("a tuple", name, {"values", "indices"});
  }
  const auto& attributes = tensor_attributes();
  if (const auto it = attributes.find(name); it != attributes.end())
    return it->second(object.tensor());
  std::vector<std::string> known;
  for (const auto& [attribute, read] : attributes) known.push_back(attribute);
  fail_attribute("a tensor", name, known);
}

Value size(const Args& a) {
  const Tensor x = a.tensor("input");
  return a.is_none("dim") ? shape_of(x) : Value(x.size(a.integer("dim")));
}

Value length(const Args& a) {
  const Value& v = a["input"];
  if (v.is_string()) return static_cast<int64_t>(v.string().size());
  if (v.is<Dict>()) return static_cast<int64_t>(v.get<Dict>().items.size());
  if (!v.is_tensor()) return static_cast<int64_t>(v.items().size());
  SPARSEBIT_CHECK(v.tensor().dim() > 0, InvalidArgument, "len() of a 0-d tensor");
  return v.tensor().size(0);
}

/// The items that a `for` loop over the value visits.
std::vector<Value> elements(const Value& v) {
  if (!v.is_tensor()) return v.items();
  const std::vector<Tensor> rows = at::unbind(v.tensor());
  return {rows.begin(), rows.end()};
}

bool is_real(const Value& v) {
  return v.is_double() || (v.is_tensor() && v.tensor().is_floating_point());
}

int64_t to_integer(const Value& v) {
  if (!is_real(v)) return v.to_int();
  const double number = v.to_double();
  SPARSEBIT_CHECK(std::abs(number) < 0x1p63, InvalidArgument, "cannot convert ", number,
                  " to an int");
  return static_cast<int64_t>(number);
}

Value range(const Args& a) {
  const bool only_stop = a.is_none("stop");
  const int64_t start = only_stop ? 0 : a.integer("start");
  const int64_t stop = only_stop ? a.integer("start") : a.integer("stop");
  const int64_t step = a.integer("step");
  SPARSEBIT_CHECK(step != 0, InvalidArgument, "range() arg 3 must not be zero");
  constexpr double kLongest = 1e7;  // a list, not Python's lazy object
  const double count = std::ceil((static_cast<double>(stop) - static_cast<double>(start)) /
                                 static_cast<double>(step));
  SPARSEBIT_CHECK(count <= kLongest, InvalidArgument, "range() of more than ", kLongest,
                  " numbers");
  if (count <= 0) return List();
  List numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    numbers.items.emplace_back(start + i * step);
  return numbers;
}

template <class Better>
Kernel pick(Better better) {
  return [=](const Args& a) -> Value {
    const std::vector<Value>& values = a["values"].items();
    SPARSEBIT_CHECK(!values.empty(), InvalidArgument, "needs at least one value");
    return std::accumulate(
        values.begin() + 1, values.end(), values.front(),
        [&](const Value& best, const Value& v) { return better(v, best) ? v : best; });
  };
}

Value add_values(const Value& x, const Value& y) {
  return x.is_tensor() || y.is_tensor() ? Value(at::add(operand(x), operand(y)))
                                        : python::add(x, y);
}

/// Rounds an int to a multiple of 10^digits, halves to even.
int64_t round_to_power_of_ten(int64_t number, int64_t digits) {
  constexpr int64_t kMostDigits = 18;  // of an int64
  if (digits > kMostDigits) return 0;
  int64_t unit = 1;
  for (int64_t i = 0; i < digits; ++i) unit *= 10;
  const int64_t quotient = number / unit, rest = number % unit;
  const int64_t twice = std::abs(rest) * 2;  // |rest| < 10^18, so this fits
  const bool away = twice > unit || (twice == unit && quotient % 2 != 0);
  return (quotient + (away ? (number < 0 ? -1 : 1) : 0)) * unit;
}

/// Python rounds halves to even, and to an int unless digits are given. It rounds the decimal
/// expansion, not the product with a power of ten: round(1.115, 2) is 1.11.
Value round_number(const Args& a) {
  const Value& v = a["number"];
  const int64_t digits = a.optional_integer("ndigits").value_or(0);
  if (!v.is_double()) {
    return digits >= 0 ? v.to_int() : round_to_power_of_ten(v.to_int(), -digits);
  }
  if (a.is_none("ndigits")) return to_integer(std::nearbyint(v.to_double()));
  constexpr int64_t kExactDigits = 300;  // more than a double has
  if (digits > kExactDigits) return v;
  if (digits >= 0) return std::stod(fmt::format("{:.{}f}", v.to_double(), digits));
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(v.to_double() / unit) * unit;
}

bool contains(const Value& container, const Value& item) {
  if (container.is_string()) return container.string().find(item.string()) != std::string::npos;
  if (container.is<Dict>()) return container.get<Dict>().find(item.string()) != nullptr;
  const std::vector<Value>& items = container.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& v) { return python::equal(v, item); });
}

void add_attributes(OperatorTable& table) {
  table.add({.name = "getattr",
             .schema = "input, name",
             .forms = {"getattr"},
             .view = true,
             .kernel = get_attribute});
  table.add(
      {.name = "size", .schema = "input, dim=None", .forms = {"Tensor.size"}, .kernel = size});
  table.add({.name = "dim",
             .schema = "input",
             .forms = {"Tensor.dim", "Tensor.ndimension"},
             .kernel = [](const Args& a) -> Value { return a.tensor("input").dim(); }});
  table.add({.name = "numel",
             .schema = "input",
             .forms = {"torch.numel", "Tensor.numel", "Tensor.nelement"},
             .kernel = [](const Args& a) -> Value { return a.tensor("input").numel(); }});
  table.add(
      {.name = "is_floating_point",
       .schema = "input",
       .forms = {"torch.is_floating_point", "Tensor.is_floating_point"},
       .kernel = [](const Args& a) -> Value { return a.tensor("input").is_floating_point(); }});
  table.add({.name = "len", .schema = "input", .forms = {"len"}, .kernel = length});
}

void add_constructors(OperatorTable& table) {
  table.add(
      {.name = "int", .schema = "input", .forms = {"int"}, .kernel = [](const Args& a) -> Value {
         return to_integer(a["input"]);
       }});
  table.add({.name = "float",
             .schema = "input",
             .forms = {"float"},
             .kernel = [](const Args& a) -> Value { return a.number("input"); }});
  table.add(
      {.name = "bool", .schema = "input", .forms = {"bool"}, .kernel = [](const Args& a) -> Value {
         return python::truth(a["input"]);
       }});
  table.add({.name = "index",
             .schema = "input",
             .forms = {"operator.index"},
             .growth = Growth::Lookup,
             .kernel = [](const Args& a) -> Value { return a.integer("input"); }});
  table.add({.name = "tuple",
             .schema = "input=()",
             .forms = {"tuple", "torch.Size"},
             .view = true,
             .kernel = [](const Args& a) -> Value { return Tuple(elements(a["input"])); }});
  table.add({.name = "list",
             .schema = "input=()",
             .forms = {"list"},
             .view = true,
             .kernel = [](const Args& a) -> Value { return List(elements(a["input"])); }});
  table.add({.name = "range",
             .schema = "start, stop=None, step=1",
             .forms = {"range"},
             .growth = Growth::Sizes,
             .kernel = range});
}

void add_builtins(OperatorTable& table) {
  table.add(
      {.name = "builtin_max",
       .schema = "*values",
       .forms = {"max"},
       .kernel = pick([](const Value& v, const Value& best) { return python::less(best, v); })});
  table.add(
      {.name = "builtin_min",
       .schema = "*values",
       .forms = {"min"},
       .kernel = pick([](const Value& v, const Value& best) { return python::less(v, best); })});
  table.add({.name = "builtin_sum",
             .schema = "values, start=0",
             .forms = {"sum"},
             .kernel = [](const Args& a) -> Value {
               const std::vector<Value> values = elements(a["values"]);
               return std::accumulate(values.begin(), values.end(), a["start"], add_values);
             }});
  table.add({.name = "builtin_round",
             .schema = "number, ndigits=None",
             .forms = {"round"},
             .kernel = round_number});
  table.add({.name = "contains",
             .schema = "container, item",
             .forms = {"operator.contains"},
             .kernel = [](const Args& a) -> Value { return contains(a["container"], a["item"]); }});
  table.add({.name = "is",
             .schema = "input, other",
             .forms = {"operator.is_"},
             .kernel = [](const Args& a) -> Value { return a["input"] == a["other"]; }});
  table.add({.name = "is_not",
             .schema = "input, other",
             .forms = {"operator.is_not"},
             .kernel = [](const Args& a) -> Value { return !(a["input"] == a["other"]); }});
  table.add({.name = "assert",
             .schema = "condition, message=''",
             .forms = {"torch._assert"},
             .effect = Effect::Checks,
             .kernel = [](const Args& a) -> Value {
               SPARSEBIT_CHECK(python::truth(a["condition"]), InvalidArgument,
                               "the model's assertion failed: ", a.text("message"));
               return None();
             }});
}

/// `math.sqrt` and similar functions. Arguments for which C returns nan are errors, as in Python.
void add_math_function(OperatorTable& table, const std::string& name, double (*function)(double)) {
  const std::string spelling = "math." + name;
  table.add({.name = spelling,
             .schema = "input",
             .forms = {spelling.c_str()},
             .kernel = [=](const Args& a) -> Value {
               const double x = a.number("input"), result = function(x);
               const bool pole = std::isinf(result) && std::isfinite(x);
               SPARSEBIT_CHECK(std::isnan(x) || !(std::isnan(result) || pole), InvalidArgument,
                               spelling, " is not defined for ", x);
               return result;
             }});
}

void add_math_rounding(OperatorTable& table, const std::string& name, double (*function)(double)) {
  const std::string spelling = "math." + name;
  table.add({.name = spelling,
             .schema = "input",
             .forms = {spelling.c_str()},
             .kernel = [=](const Args& a) -> Value {
               const Value& x = a["input"];
               return to_integer(is_real(x) ? Value(function(x.to_double())) : x);
             }});
}

void add_math_module(OperatorTable& table) {
  add_math_function(table, "sqrt", std::sqrt);
  add_math_function(table, "exp", std::exp);
  add_math_function(table, "log", std::log);
  add_math_function(table, "log2", std::log2);
  add_math_function(table, "log10", std::log10);
  add_math_function(table, "sin", std::sin);
  add_math_function(table, "cos", std::cos);
  add_math_function(table, "tanh", std::tanh);
  add_math_rounding(table, "floor", std::floor);
  add_math_rounding(table, "ceil", std::ceil);
  add_math_rounding(table, "trunc", std::trunc);
  table.add({.name = "math.pow",
             .schema = "input, exponent",
             .forms = {"math.pow"},
             .kernel = [](const Args& a) {
               return python::power(a.number("input"), a.number("exponent"));
             }});
  table.add({.name = "math.prod",
             .schema = "values, *, start=1",
             .forms = {"math.prod"},
             .kernel = [](const Args& a) -> Value {
               const std::vector<Value>& values = a["values"].items();
               return std::accumulate(values.begin(), values.end(), a["start"], python::mul);
             }});
}

}  // namespace

void add_python_operators(OperatorTable& table) {
  add_attributes(table);
  add_constructors(table);
  add_builtins(table);
  add_math_module(table);
}

}  // namespace sparsebit::fx
