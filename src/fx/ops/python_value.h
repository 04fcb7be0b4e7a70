#pragma once

#include "sparsebit/fx/ops/value.h"

/// What Python computes for plain values: numbers, strings, lists, tuples. Shape arithmetic in a
/// traced model is made of these (`x.shape[0] // 2`, `x.shape[:2] + (4,)`).
///
/// Two bools or ints give an int where Python does, and an error instead of a number that needs
/// more than 64 bits. Operands that Python refuses throw InvalidArgument.
namespace sparsebit::fx::python {

Value add(const Value& a, const Value& b);  ///< also joins two strings, lists or tuples
Value sub(const Value& a, const Value& b);
Value mul(const Value& a, const Value& b);  ///< also repeats a string, list or tuple
Value true_divide(const Value& a, const Value& b);
Value floor_divide(const Value& a, const Value& b);
Value modulo(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);
Value negative(const Value& a);
Value absolute(const Value& a);

Value bit_and(const Value& a, const Value& b);
Value bit_or(const Value& a, const Value& b);
Value bit_xor(const Value& a, const Value& b);
Value bit_not(const Value& a);
Value left_shift(const Value& a, const Value& b);
Value right_shift(const Value& a, const Value& b);

bool equal(const Value& a, const Value& b);  ///< any two values
bool less(const Value& a, const Value& b);   ///< numbers, strings, or sequences of one kind
bool less_equal(const Value& a, const Value& b);
bool truth(const Value& a);  ///< what `if a:` asks

/// As Python: -1 is the last of `size` items. Throws InvalidArgument when there is no such item.
size_t item_position(int64_t index, size_t size, const char* kind);

Value from_scalar(const at::Scalar& scalar);  ///< a bool, int or float

}  // namespace sparsebit::fx::python
