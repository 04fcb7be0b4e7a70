#pragma once

#include "sparsebit/fx/ops/value.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sparsebit::fx {

/// Writes a value as FX does, except that strings are quoted so that the text can be read back:
/// `None`, `True`, `3`, `1e-05`, `'same'`, `torch.float32`, `cpu`, `[1, %x]`, `(%x,)`,
/// `{dim: 1}`, `slice(None, 2, None)`, `...`. Tensors of up to 16 elements are written out,
/// larger ones as `tensor(<float32[64, 3, 7, 7]>)`, which cannot be read back.
///
/// @param node_text  how a node inside is written, usually "%" + its name.
std::string format_value(const Value& value,
                         const std::function<std::string(const Node&)>& node_text);

/// A float as Python's repr: shortest text that reads back as the same number.
std::string format_double(double value);

/// Reads the text above. One reader walks one piece of text; `where` names it in messages.
class ValueReader {
 public:
  /// The value of a name, usually a node; empty when the name is unknown.
  using NameLookup = std::function<std::optional<Value>(std::string_view name)>;
  /// Whether names start with '%', which distinguishes them from words such as None, or are bare,
  /// as FX writes them after `return`.
  enum class Names { Prefixed, Bare };

  ValueReader(std::string_view text, std::string where, NameLookup lookup = nullptr,
              Names names = Names::Prefixed);

  Value read_value();
  /// Letters, digits, '_' and '.'; empty when there is none.
  std::string_view read_name();

  void skip_space();
  bool at_end();
  char peek();
  bool try_consume(std::string_view token);  ///< skips space, then `token` if it is next
  void expect(std::string_view token);       ///< try_consume() or an error
  std::string_view rest() const { return text_.substr(pos_); }
  size_t position() const { return pos_; }

  /// Throws InvalidArgument with the position and the text around it.
  [[noreturn]] void fail(const std::string& expected);

 private:
  std::vector<Value> read_items(char close, bool* trailing_comma = nullptr);
  Value read_parenthesized();
  Value read_dict();
  Value read_string();
  Value read_number();
  Value read_word();
  Value read_prefixed_name();
  Value read_device(const std::string& type);
  Value read_tensor();
  Value read_slice();

  std::string_view text_;
  std::string where_;
  NameLookup lookup_;
  Names names_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace sparsebit::fx
