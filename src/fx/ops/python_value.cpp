#include "fx/ops/python_value.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>

namespace sparsebit::fx::python {
namespace {

[[noreturn]] void fail_operands(const char* symbol, const Value& a, const Value& b) {
  throw Error(ErrorKind::InvalidArgument, c10::str("unsupported operands for ", symbol, ": ",
                                                   describe(a), " and ", describe(b)));
}

[[noreturn]] void fail_operand(const char* symbol, const Value& a) {
  throw Error(ErrorKind::InvalidArgument,
              c10::str("unsupported operand for ", symbol, ": ", describe(a)));
}

int64_t require_fits(bool overflow, int64_t result) {
  SPARSEBIT_CHECK(!overflow, InvalidArgument, "the result does not fit in 64 bits");
  return result;
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflow = __builtin_add_overflow(a, b, &result);
  return require_fits(overflow, result);
}

int64_t checked_sub(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflow = __builtin_sub_overflow(a, b, &result);
  return require_fits(overflow, result);
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &result);
  return require_fits(overflow, result);
}

/// Ints (and bools) with `on_ints`, as soon as one is a float with `on_floats`.
template <class OnInts, class OnFloats>
Value arithmetic(const char* symbol, const Value& a, const Value& b, OnInts on_ints,
                 OnFloats on_floats) {
  if (!a.is_number() || !b.is_number()) fail_operands(symbol, a, b);
  if (a.is_double() || b.is_double()) return on_floats(a.to_double(), b.to_double());
  return on_ints(a.to_int(), b.to_int());
}

template <class OnInts>
Value bitwise(const char* symbol, const Value& a, const Value& b, OnInts on_ints) {
  if (a.is_bool() && b.is_bool()) return on_ints(a.to_int(), b.to_int()) != 0;
  if (!a.is_number() || !b.is_number() || a.is_double() || b.is_double()) {
    fail_operands(symbol, a, b);
  }
  return on_ints(a.to_int(), b.to_int());
}

/// Shifting a bool gives an int, unlike `&` and `|` of two bools.
Value without_bool(const Value& a) { return a.is_bool() ? Value(a.to_int()) : a; }

/// A list or tuple, whichever `like` is.
Value sequence_like(const Value& like, std::vector<Value> items) {
  return like.is<List>() ? Value(List(std::move(items))) : Value(Tuple(std::move(items)));
}

Value repeat(const Value& sequence, int64_t times) {
  if (sequence.is_string()) {
    std::string text;
    for (int64_t i = 0; i < times; ++i) text += sequence.string();
    return text;
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return sequence_like(sequence, std::move(items));
}

int64_t floor_divide_ints(int64_t a, int64_t b) {
  if (b == -1) return checked_sub(0, a);  // the machine's division traps on the smallest int
  const bool inexact_and_negative = a % b != 0 && (a < 0) != (b < 0);
  return a / b - (inexact_and_negative ? 1 : 0);
}

int64_t modulo_ints(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo_floats(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_divide_floats(double a, double b) {
  // CPython's way: without the remainder the quotient is an integer up to rounding errors.
  const double rest = std::fmod(a, b);
  const bool one_less = rest != 0 && (rest < 0) != (b < 0);
  const double quotient = (a - rest) / b - (one_less ? 1 : 0);
  return quotient == 0 ? std::copysign(0.0, a / b) : std::round(quotient);
}

int64_t power_ints(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (true) {
    if (exponent & 1) result = checked_mul(result, base);
    exponent >>= 1;
    if (exponent == 0) return result;
    base = checked_mul(base, base);
  }
}

double power_floats(double base, double exponent) {
  SPARSEBIT_CHECK(base != 0 || !(exponent < 0), InvalidArgument,
                  "0 cannot be raised to a negative power");
  const double result = std::pow(base, exponent);
  SPARSEBIT_CHECK(!std::isnan(result) || std::isnan(base) || std::isnan(exponent), InvalidArgument,
                  "the power of a negative number is complex: ", base, " ** ", exponent);
  return result;
}

void require_nonzero(const Value& divisor) {
  const bool zero = divisor.is_number() && divisor.to_double() == 0;
  SPARSEBIT_CHECK(!zero, InvalidArgument, "division by zero");
}

void require_shift(int64_t count) {
  SPARSEBIT_CHECK(count >= 0, InvalidArgument, "negative shift count ", count);
}

std::partial_ordering compare(const char* symbol, const Value& a, const Value& b);

std::partial_ordering compare_items(const char* symbol, const Value& a, const Value& b) {
  const std::vector<Value>&x = a.items(), &y = b.items();
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!equal(x[i], y[i])) return compare(symbol, x[i], y[i]);
  }
  return x.size() <=> y.size();
}

/// An int64 does not fit a double, but it fits the 64-bit mantissa of a long double.
long double exact(const Value& number) {
  return number.is_double() ? static_cast<long double>(number.to_double())
                            : static_cast<long double>(number.to_int());
}

std::partial_ordering compare(const char* symbol, const Value& a, const Value& b) {
  const auto number = [](const Value& v) { return v.is_number() || v.is_tensor(); };
  const bool same_kind = a.variant().index() == b.variant().index();
  if (a.is_number() && b.is_number()) return exact(a) <=> exact(b);
  if (number(a) && number(b)) return a.to_double() <=> b.to_double();
  if (same_kind && a.is_string()) return a.string() <=> b.string();
  if (same_kind && a.is_sequence()) return compare_items(symbol, a, b);
  fail_operands(symbol, a, b);
}

}  // namespace

Value add(const Value& a, const Value& b) {
  const bool same_kind = a.variant().index() == b.variant().index();
  if (same_kind && a.is_string()) return a.string() + b.string();
  if (same_kind && a.is_sequence()) {
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return sequence_like(a, std::move(items));
  }
  return arithmetic("+", a, b, checked_add, std::plus<double>());
}

Value sub(const Value& a, const Value& b) {
  return arithmetic("-", a, b, checked_sub, std::minus<double>());
}

Value mul(const Value& a, const Value& b) {
  const auto repeatable = [](const Value& v) { return v.is_sequence() || v.is_string(); };
  const auto count = [](const Value& v) { return v.is_int() || v.is_bool(); };
  if (repeatable(a) && count(b)) return repeat(a, b.to_int());
  if (repeatable(b) && count(a)) return repeat(b, a.to_int());
  return arithmetic("*", a, b, checked_mul, std::multiplies<double>());
}

Value true_divide(const Value& a, const Value& b) {
  require_nonzero(b);
  const auto divide = [](double x, double y) { return x / y; };
  return arithmetic("/", a, b, divide, divide);
}

Value floor_divide(const Value& a, const Value& b) {
  require_nonzero(b);
  return arithmetic("//", a, b, floor_divide_ints, floor_divide_floats);
}

Value modulo(const Value& a, const Value& b) {
  require_nonzero(b);
  return arithmetic("%", a, b, modulo_ints, modulo_floats);
}

Value power(const Value& a, const Value& b) {
  const auto on_ints = [](int64_t base, int64_t exponent) -> Value {
    if (exponent >= 0) return power_ints(base, exponent);
    return power_floats(static_cast<double>(base), static_cast<double>(exponent));
  };
  return arithmetic("**", a, b, on_ints, power_floats);
}

Value negative(const Value& a) {
  if (!a.is_number()) fail_operand("unary -", a);
  return a.is_double() ? Value(-a.to_double()) : Value(checked_sub(0, a.to_int()));
}

Value absolute(const Value& a) {
  if (!a.is_number()) fail_operand("abs", a);
  if (a.is_double()) return std::abs(a.to_double());
  return a.to_int() < 0 ? negative(a) : Value(a.to_int());
}

Value bit_and(const Value& a, const Value& b) {
  return bitwise("&", a, b, std::bit_and<int64_t>());
}
Value bit_or(const Value& a, const Value& b) { return bitwise("|", a, b, std::bit_or<int64_t>()); }
Value bit_xor(const Value& a, const Value& b) {
  return bitwise("^", a, b, std::bit_xor<int64_t>());
}

Value bit_not(const Value& a) {
  if (!a.is_number() || a.is_double()) fail_operand("~", a);
  return ~a.to_int();
}

Value left_shift(const Value& a, const Value& b) {
  const auto shift = [](int64_t x, int64_t count) {
    require_shift(count);
    if (x == 0) return x;
    require_fits(count > 62, 0);
    return checked_mul(x, int64_t{1} << count);
  };
  return bitwise("<<", without_bool(a), b, shift);
}

Value right_shift(const Value& a, const Value& b) {
  const auto shift = [](int64_t x, int64_t count) {
    require_shift(count);
    return x >> std::min<int64_t>(count, 63);
  };
  return bitwise(">>", without_bool(a), b, shift);
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return exact(a) == exact(b);
  if (a.variant().index() != b.variant().index()) {
    const bool tensor_and_number =
        (a.is_tensor() && b.is_number()) || (a.is_number() && b.is_tensor());
    return tensor_and_number && a.to_double() == b.to_double();
  }
  if (a.is_sequence()) {
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                      equal);
  }
  if (a.is_tensor() && !(a == b)) return Value(at::eq(a.tensor(), b.tensor())).to_bool();
  return a == b;
}

bool less(const Value& a, const Value& b) { return compare("<", a, b) < 0; }
bool less_equal(const Value& a, const Value& b) { return compare("<=", a, b) <= 0; }

bool truth(const Value& a) {
  if (a.is_none()) return false;
  if (a.is_double()) return a.to_double() != 0;
  if (a.is_string()) return !a.string().empty();
  if (a.is_sequence()) return !a.items().empty();
  if (a.is<Dict>()) return !a.get<Dict>().items.empty();
  if (a.is_bool() || a.is_int() || a.is_tensor() || a.is_node()) return a.to_bool();
  return true;
}

size_t item_position(int64_t index, size_t size, const char* kind) {
  const auto count = static_cast<int64_t>(size);
  const int64_t position = index < 0 ? index + count : index;
  SPARSEBIT_CHECK(position >= 0 && position < count, InvalidArgument, kind,
                  " index out of range: ", index, " with ", size, " items");
  return static_cast<size_t>(position);
}

Value from_scalar(const at::Scalar& scalar) {
  if (scalar.isBoolean()) return scalar.toBool();
  if (scalar.isIntegral(/*includeBool=*/false)) return scalar.toLong();
  return scalar.toDouble();
}

}  // namespace sparsebit::fx::python
